"""Health and metrics of a sequencer: which one leads, what waits, and what was decided."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pytest

from ledger.config.settings import Genesis
from ledger.core.commands import CommitTxn, OpenTxn
from ledger.errors import LogUnavailableError
from ledger.log.memory import MemoryLog
from ledger.log.port import Log, Topic
from ledger.log.wire.codec import encode_command
from ledger.machine.endpoints import ANY_PORT
from ledger.sequencer.sequencer import Sequencer
from ledger.testing import FixedClock
from projections.web.roles.sequencer import Sequencing, sequencer_role
from projections.web.server.server import WebServer
from tests.integration.raw_client import UNNUMBERED, RawClient
from tests.web.served import Served, samples

OPEN_TXN = OpenTxn(*UNNUMBERED, "default", 1, 0)
LONG_S = 3_600.0
COMMANDS = 5


class AwayLog(MemoryLog):
    """A log whose broker does not say where it ends."""

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        raise LogUnavailableError(f"no answer about {topic.value} within {timeout_s} s")


@contextmanager
def probing(
    sequencing: Sequencing, log: Log, clock: FixedClock, faults: Sequence[str] = ()
) -> Iterator[Served]:
    pages = sequencer_role(sequencing, lambda: log, clock, lambda: faults).pages()
    with closing(Served(WebServer.start(pages, ANY_PORT))) as served:
        yield served


@contextmanager
def led() -> Iterator[tuple[MemoryLog, FixedClock, Sequencer, Sequencer]]:
    log, clock = MemoryLog(), FixedClock()
    leader, standby = (Sequencer(log, Genesis("busy"), clock=clock) for _ in range(2))
    while leader.leader is None:
        leader.step(0.0)
    standby.step(0.0)
    with closing(leader), closing(standby):
        yield log, clock, leader, standby


def test_a_leader_is_ready_and_its_metrics_count_what_it_decided_by_bursts() -> None:
    with led() as (log, clock, leader, _), probing(lambda: leader, log, clock) as served:
        client = RawClient(log, lambda: leader.step(0.0))
        session = client.open_session()
        bursts = leader.tally.bursts
        for _ in range(COMMANDS):
            client.send(session, OPEN_TXN)
        for _ in range(COMMANDS):
            client.wait_for(lambda event: event.control.session == session)
        found, ready = samples(served), served.ask("/readyz")

        assert (ready.status, served.ask("/livez").status) == (200, 200)
        assert "leading, epoch 1" in ready.form["checks"]["role"]["detail"]
        assert found["lakeledger_sequencer_leads"] == 1
        assert found["lakeledger_sequencer_epoch"] == 1
        assert found["lakeledger_sequencer_takeovers_total"] == 1
        assert found["lakeledger_sequencer_claims_total"] == 1
        assert found["lakeledger_sequencer_decide_seconds_count"] == COMMANDS + 1
        assert found["lakeledger_sequencer_bursts_total"] == bursts + 1
        assert found["lakeledger_sequencer_open_txns"] == COMMANDS
        assert found["lakeledger_sequencer_sessions"] == 1
        assert found["lakeledger_sequencer_queue"] == 0
        assert served.ask("/v1/position").form == leader.acceptor.head.position


def test_commands_without_an_answer_are_counted_and_how_long_they_were_seen_waiting() -> None:
    with led() as (log, clock, leader, _), probing(lambda: leader, log, clock) as served:
        with closing(log.writer(Topic.COMMANDS)) as writer:
            for _ in range(COMMANDS):
                writer.append(b"1", encode_command(OPEN_TXN))
        found = samples(served)
        assert found["lakeledger_sequencer_queue"] == COMMANDS


@pytest.mark.parametrize("faults", [[], ["one has retention.ms=1", "two has a small bound"]])
def test_topics_that_may_lose_records_are_counted_and_named(faults: list[str]) -> None:
    with led() as (log, clock, leader, _), probing(lambda: leader, log, clock, faults) as served:
        found, ready = samples(served), served.ask("/readyz")
    assert found["lakeledger_sequencer_topic_faults"] == len(faults)
    assert ready.status == (503 if faults else 200)
    assert all(fault in ready.form["checks"]["topics"]["detail"] for fault in faults)


def test_a_refused_command_is_counted_by_its_reason() -> None:
    with led() as (log, clock, leader, _), probing(lambda: leader, log, clock) as served:
        client = RawClient(log, lambda: leader.step(0.0))
        session = client.open_session()
        client.send(session, CommitTxn(*UNNUMBERED, 99, []))
        client.wait_for(lambda event: event.control.session == session)
        refused = {
            name: value
            for name, value in samples(served).items()
            if name.startswith("lakeledger_sequencer_refusals_total")
        }
        assert sum(refused.values()) == 1


def test_a_standby_is_ready_while_it_hears_the_leader_and_not_when_no_sequencer_leads() -> None:
    with led() as (log, clock, leader, standby), probing(lambda: standby, log, clock) as served:
        assert samples(served)["lakeledger_sequencer_leads"] == 0
        assert served.ask("/readyz").status == 200
        leader.close()
        clock.advance(LONG_S)
        answer = served.ask("/readyz")
        assert (answer.status, answer.form["checks"]["role"]["status"]) == (503, "DOWN")
        assert "no sequencer leads now" in answer.form["checks"]["role"]["detail"]


def test_before_its_state_is_loaded_a_sequencer_lives_and_is_not_ready() -> None:
    with probing(lambda: None, MemoryLog(), FixedClock()) as served:
        assert (served.ask("/livez").status, served.ask("/readyz").status) == (200, 503)
        assert not any("sequencer" in name for name in samples(served))


def test_broker_away() -> None:
    """If the broker does not answer, the queue is not known: not ready, and still metrics."""
    with led() as (_, clock, leader, _), probing(lambda: leader, AwayLog(), clock) as served:
        answer, found = served.ask("/readyz"), samples(served)
        assert (answer.status, answer.form["checks"]["broker"]["status"]) == (503, "DOWN")
        assert "lakeledger_sequencer_queue" not in found
        assert found["lakeledger_sequencer_leads"] == 1
