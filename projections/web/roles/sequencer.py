"""A sequencer over HTTP: its health by named checks and its metrics, beside its decisions.

The server looks at the sequencer from a thread of its own and never makes it wait: the length of
the queue comes from the broker, over a connection of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from prometheus_client.core import SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.clock import Clock
from ledger.config.settings import UNLOCKED, SequencerSettings, WebSettings
from ledger.errors import ReadsUnavailableError
from ledger.log.port import Log, Topic
from ledger.sequencer.sequencer import Sequencer
from ledger.sequencer.tally import SequencerTally
from projections.fold.lag import Backlog, Lag
from projections.web.roles.health import Check, LagSeen
from projections.web.roles.metrics import count, count_by, gauge
from projections.web.roles.role import ProcessPart, Role
from projections.web.server.server import WebServer

THREADS: Final = 1

Sequencing = Callable[[], Sequencer | None]
"""The sequencer of this process, None until its state is loaded."""

TopicFaults = Callable[[], Sequence[str]]
"""The reasons why the ledger cannot run on its topics, as of the last look at them."""


def serve_probes(
    sequencing: Sequencing,
    open_log: Callable[[], Log],
    settings: SequencerSettings,
    clock: Clock,
    doors: WebSettings = UNLOCKED,
    *,
    faults: TopicFaults = tuple,
) -> WebServer:
    """Serve health and metrics of a sequencer; raises SettingsError if the server cannot listen."""
    return sequencer_role(sequencing, open_log, clock, faults).serve(settings, doors)


def sequencer_role(
    sequencing: Sequencing, open_log: Callable[[], Log], clock: Clock, faults: TopicFaults = tuple
) -> Role[ProcessPart[None]]:
    """Return what a sequencer shows; `open_log` opens the log over which its queue is looked at."""
    commands = cache(lambda: Backlog(open_log(), Topic.COMMANDS))

    def queue() -> Lag | None:
        """Return how many commands have no answer in the log, and for how long one was seen so."""
        sequencer = sequencing()
        if sequencer is None:
            return None
        head = sequencer.acceptor.head
        return commands().measure(clock, head.position, head.last_cmd + 1, clock.now_ms())

    return Role(
        "sequencer",
        lambda: ProcessPart(None, lambda: position_of(sequencing())),
        {
            "role": lambda _: role_check(sequencing()),
            "broker": lambda look: broker_check(look.lag),
            "topics": lambda _: Check(
                not faults(), "; ".join(faults()) or "their settings are as they must be"
            ),
        },
        queue,
        lambda lag: measures(sequencing(), lag, len(faults())),
        threads=THREADS,
    )


def position_of(sequencer: Sequencer | None) -> int:
    """Return the position of the last event that it read back, or read as a standby."""
    if sequencer is None:
        raise ReadsUnavailableError("the state is being loaded; ask again soon")
    return sequencer.acceptor.head.position


def role_check(sequencer: Sequencer | None) -> Check:
    """Return whether it leads or hears a leader."""
    if sequencer is None:
        return Check(is_up=False, detail="the state is being loaded")
    head = sequencer.acceptor.head
    text = f"{sequencer.role}, epoch {head.epoch}, position {head.position}"
    if sequencer.hears_leader():
        return Check(is_up=True, detail=text)
    return Check(is_up=False, detail=f"{text}; no sequencer leads now")


def broker_check(lag: LagSeen) -> Check:
    """Return whether the broker answers."""
    if not isinstance(lag, Lag):
        return Check(is_up=False, detail=f"unknown: {lag or 'the state is being loaded'}")
    return Check(is_up=True, detail=f"{lag.records} commands have no answer in the log")


def measures(sequencer: Sequencer | None, queue: Lag | None, faults: int) -> Iterator[Metric]:
    """Yield the metrics of a sequencer, none before it exists."""
    if sequencer is None:
        return
    yield from decided(sequencer.tally)
    yield from measure_place(sequencer)
    yield of_role("topic_faults", "Settings of topics that may lose records", faults)
    if queue is not None:
        yield of_role("queue", "Commands without an answer in the log", queue.records)
        waited_s = queue.behind_ms / 1000
        yield of_role("queue_seconds", "For how long one was seen waiting", waited_s)


def decided(tally: SequencerTally) -> Iterator[Metric]:
    """Yield the counters since the process started."""
    yield SummaryMetricFamily(
        "lakeledger_sequencer_decide_seconds",
        "Time from reading commands to appending their answers, by decision",
        count_value=tally.decisions,
        sum_value=tally.seconds,
    )
    yield count(
        "sequencer_bursts", "Reads of commands, of which several may come together", tally.bursts
    )
    yield count("sequencer_claims", "Fences appended to take over", tally.claims)
    yield count("sequencer_takeovers", "Terms that this process began to lead", tally.terms)
    lost = "Commits that lost, by exception"
    yield count_by("sequencer_conflicts", lost, "exception", tally.conflicts)
    yield count_by("sequencer_refusals", "Refused commands, by reason", "reason", tally.refusals)


def measure_place(sequencer: Sequencer) -> Iterator[Metric]:
    """Yield the place in the log, the events in flight, the size of the state, checkpoints."""
    flight = None if sequencer.leader is None else sequencer.leader.flight
    txns, head = sequencer.state.txns, sequencer.acceptor.head
    yield of_role("leads", "1 while this process leads", sequencer.role == "leading")
    yield of_role("epoch", "Epoch of the newest leader", head.epoch)
    yield of_role("position", "Position of the last event", head.position)
    yield of_role("in_flight", "Events appended, not read back", len(flight or ()))
    yield of_role("in_flight_bytes", "Their bytes", 0 if flight is None else flight.bytes)
    yield of_role("sessions", "Sessions that are open", sequencer.state.sessions.open_count())
    yield of_role("open_txns", "Txns that are open", len(txns.open))
    yield of_role("aborted_txns", "Aborted txns that are not forgotten", len(txns.aborted))
    ahead_s = sequencer.clock.ahead_ms() / 1000
    behind_s = sequencer.clock.behind_ms(sequencer.state.at) / 1000
    yield of_role("clock_ahead_seconds", "How far its clock is ahead of the broker's", ahead_s)
    yield of_role("log_ahead_seconds", "How far times in the log are ahead of its clock", behind_s)
    newest = sequencer.checkpointing
    yield of_role("checkpoint_position", "Position of the newest checkpoint", newest.position)
    yield count("sequencer_checkpoints", "State checkpoints written", newest.written)


def of_role(name: str, about: str, value: float) -> Metric:
    """Return a number of the sequencer that goes up and down."""
    return gauge(f"sequencer_{name}", about, value)
