"""The commands topic harmed: created anew, cut by retention, emptied, holed. Work goes on.

What will never be read is recorded by CommandsMoved, with the reason.
Commands are not history: whatever happens to their topic costs the commands that nobody has read,
and nothing else.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ledger.client import Ledger
from ledger.core.commands import OpenTxn
from ledger.core.events.events import CommandRefused, CommandsMoved, Event, Resigned, TxnOpened
from ledger.core.refusals import Reason
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Log, Topic
from ledger.log.replay import verify
from ledger.machine.kafka.broker import Broker
from tests.integration.fleet import Fleet
from tests.integration.raw_client import PATIENCE_S, UNNUMBERED, RawClient
from tests.log.contract import Bench
from tests.log.kafka_bench import eventually, kafka_bench

pytestmark = pytest.mark.kafka

OPEN_TXN = OpenTxn(*UNNUMBERED, "default", 1, 0)
BEFORE, REMOVED, AFTER = 1, 40, 10
LEASE_S = 2.0


@pytest.fixture
def log(broker: Broker, ledger_name: str) -> Iterator[KafkaLog]:
    """Return the log of a ledger that is not created yet."""
    create_topics(broker.bootstrap, ledger_name)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as log:
        yield log


@pytest.fixture
def bench(broker: Broker, log: KafkaLog) -> Bench:
    return kafka_bench(log, broker.bootstrap)


@pytest.fixture
def raw(log: KafkaLog) -> Iterator[RawClient]:
    with RawClient(log) as raw:
        yield raw


def is_move(event: Event) -> bool:
    """Tell whether an event says that commands will never be read."""
    return isinstance(event.body, CommandsMoved)


def moves(raw: RawClient) -> list[str]:
    """Return why commands were passed over, each time."""
    return [event.body.reason for event in raw.events if isinstance(event.body, CommandsMoved)]


@contextmanager
def led_once(broker: Broker, ledger: str, raw: RawClient) -> Iterator[int]:
    """Lead a ledger for the length of a block, and yield a session in which a txn was opened."""
    with Fleet(broker.bootstrap, ledger, 1):
        session = raw.open_session()
        raw.ask(session, OPEN_TXN)
        yield session
    raw.wait_for(lambda event: isinstance(event.body, Resigned))


def check_work(raw: RawClient, session: int, log: Log) -> None:
    """Check that a session from before goes on, and that the log is sound up to its end."""
    answer = raw.ask(session, OPEN_TXN)
    assert isinstance(answer.body, TxnOpened)
    assert answer.control.cmd == log.ends(Topic.COMMANDS)[1] - 1
    assert verify(log).head.last_cmd == answer.control.cmd


def test_a_topic_created_anew_is_noticed_by_its_id_at_the_next_start(
    broker: Broker, ledger_name: str, log: KafkaLog, bench: Bench, raw: RawClient
) -> None:
    with led_once(broker, ledger_name, raw) as session:
        pass
    before = log.topic_id(Topic.COMMANDS)
    bench.recreate(Topic.COMMANDS)
    with RawClient(log) as again, Fleet(broker.bootstrap, ledger_name, 1):
        again.numbers.update(raw.numbers)
        moved = again.wait_for(is_move)
        assert moves(again) == [f"the commands topic {before} is gone"]
        assert moved.control.cmd == -1
        check_work(again, session, log)


def test_a_client_goes_on_though_its_topic_was_created_anew(
    broker: Broker, ledger_name: str, log: KafkaLog, bench: Bench, raw: RawClient
) -> None:
    with (
        Fleet(broker.bootstrap, ledger_name, 2),
        Ledger.connect(broker.bootstrap, ledger_name, timeout_s=PATIENCE_S) as ledger,
    ):
        txn = ledger.begin()
        before = log.topic_id(Topic.COMMANDS)
        bench.recreate(Topic.COMMANDS)
        txn.commit()
        raw.wait_for(is_move)
        assert moves(raw) == [f"the commands topic {before} is gone"]
        ledger.begin().commit()
    assert verify(log).head.last_cmd == log.ends(Topic.COMMANDS)[1] - 1


def test_commands_removed_before_anyone_read_them_are_named_those_left_are_answered(
    broker: Broker, ledger_name: str, log: KafkaLog, bench: Bench, raw: RawClient
) -> None:
    with led_once(broker, ledger_name, raw) as session:
        pass
    first = log.ends(Topic.COMMANDS)[1]
    for _ in range(REMOVED + AFTER):
        raw.send(session, OPEN_TXN)
    raw.flush()
    bench.remove_below(Topic.COMMANDS, first + REMOVED)
    with Fleet(broker.bootstrap, ledger_name, 1):
        moved = raw.wait_for(is_move)
        assert moves(raw) == [f"retention removed commands {first} to {first + REMOVED - 1}"]
        assert moved.control.cmd == first + REMOVED - 1
        check_work(raw, session, log)
    assert len(raw.state.txns.open) == 1 + AFTER + 1


def test_a_leader_that_was_paused_for_longer_than_commands_are_kept_names_what_it_missed(
    broker: Broker, ledger_name: str, log: KafkaLog, bench: Bench, raw: RawClient
) -> None:
    with Fleet(broker.bootstrap, ledger_name, 1) as fleet:
        session = raw.open_session()
        raw.ask(session, OPEN_TXN)
        leader = fleet.pause(raw.leader())
        first = log.ends(Topic.COMMANDS)[1]
        for _ in range(BEFORE + REMOVED + AFTER):
            raw.send(session, OPEN_TXN)
            raw.flush()
        kept = first + BEFORE + REMOVED
        bench.remove_below(Topic.COMMANDS, kept)
        leader.resume()
        moved = raw.wait_for(is_move)
        assert moves(raw)[0].endswith(f"to {kept - 1}")
        assert moved.control.cmd == kept - 1
        check_work(raw, session, log)
        assert fleet.restarts == 0


def write_transaction(bootstrap: str, topic: str) -> None:
    """Write a record to a topic as somebody would whose writers know transactions."""
    settings = {"bootstrap.servers": bootstrap, "transactional.id": topic}
    with closing(Producer(settings)) as stray:
        stray.init_transactions(PATIENCE_S)
        stray.begin_transaction()
        stray.produce(topic, b"not a command")
        stray.commit_transaction(PATIENCE_S)


def test_hole(broker: Broker, ledger_name: str, log: KafkaLog, raw: RawClient) -> None:
    """A transaction somebody wrote is answered record by record, its marker is passed over."""
    with Fleet(broker.bootstrap, ledger_name, 1):
        session = raw.open_session()
        first = log.ends(Topic.COMMANDS)[1]
        write_transaction(broker.bootstrap, topic_name(ledger_name, Topic.COMMANDS))
        # The broker writes the marker after it has acknowledged the end of the transaction.
        eventually(lambda: log.ends(Topic.COMMANDS)[1] == first + len(["record", "marker"]))
        refused = raw.wait_for(lambda event: isinstance(event.body, CommandRefused))
        assert getattr(refused.body, "reason", "") == Reason.COMMAND_UNREADABLE
        assert refused.control.cmd == first
        check_work(raw, session, log)
        assert moves(raw) == [f"the topic has no commands {first + 1} to {first + 1}"]


def test_marker_at_the_end(broker: Broker, ledger_name: str, raw: RawClient) -> None:
    """A marker with no command behind it keeps nobody alive: a silent session still expires."""
    with Fleet(broker.bootstrap, ledger_name, 1, lease_s=LEASE_S):
        session = raw.open_session()
        raw.ask(session, OPEN_TXN)
        write_transaction(broker.bootstrap, topic_name(ledger_name, Topic.COMMANDS))
        raw.wait_for_expiry(session)
    assert raw.expired()[0] == [session]


def test_commands_lost_after_their_answer_are_not_asked_for_again(tmp_path: Path) -> None:
    with Broker.start(tmp_path) as broker:
        create_topics(broker.bootstrap, "lake")
        with (
            closing(KafkaLog(broker.bootstrap, "lake")) as log,
            RawClient(log) as raw,
            led_once(broker, "lake", raw) as session,
        ):
            end = log.ends(Topic.COMMANDS)[1]
    for segment in (tmp_path / "log" / "lake.commands-0").glob("0*"):
        segment.unlink()
    with (
        Broker.start(tmp_path) as broker,
        closing(KafkaLog(broker.bootstrap, "lake")) as log,
        RawClient(log) as again,
        Fleet(broker.bootstrap, "lake", 1),
    ):
        again.numbers.update(raw.numbers)
        again.wait_for(is_move)
        assert moves(again) == [f"commands 0 to {end - 1} were lost by the broker"]
        check_work(again, session, log)
