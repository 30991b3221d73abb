"""Serving a sequencer: its health by named checks and its metrics, beside its decisions.

The server looks at the sequencer from a thread of its own and never makes it wait: the length of
the queue comes from the broker, over a connection of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.clock import Clock
from ledger.config.settings import UNLOCKED, SequencerSettings, WebSettings, hosts_of
from ledger.errors import LedgerError, ReadsUnavailableError
from ledger.log.port import Log, Topic
from ledger.machine.endpoints import Endpoint
from ledger.sequencer.sequencer import Sequencer
from ledger.sequencer.tally import SequencerTally
from projections.fold.lag import Backlog, Lag
from projections.web.app import WebPages
from projections.web.roles.health import Check, Health
from projections.web.roles.metrics import LagCollector, Metrics, gauge
from projections.web.server.readers import Readers
from projections.web.server.server import WebServer
from projections.web.server.waiting import PositionWaiting

THREADS: Final = 1

Sequencing = Callable[[], Sequencer | None]
"""The sequencer of this process, None until its state is loaded."""

TopicFaults = Callable[[], Sequence[str]]
"""The reasons why the ledger cannot run on its topics, as of the last look at them."""


class SequencerSource:
    """The position of a sequencer, for questions that wait for one."""

    def __init__(self, sequencing: Sequencing) -> None:
        self._sequencing = sequencing

    def position(self) -> int:
        """Return the position of the last event that it read back, or read as a standby."""
        sequencer = self._sequencing()
        if sequencer is None:
            raise ReadsUnavailableError("the state is being loaded; ask again soon")
        return sequencer.acceptor.head.position

    def close(self) -> None:
        """Do nothing: the sequencer ends by itself."""


class SequencerHealth(Health):
    """Checks a sequencer; `open_log` opens the connection over which the queue is looked at."""

    role = "sequencer"

    def __init__(
        self,
        waiting: PositionWaiting[Any],
        sequencing: Sequencing,
        open_log: Callable[[], Log],
        clock: Clock,
        faults: TopicFaults = tuple,
    ) -> None:
        super().__init__(waiting)
        self._sequencing = sequencing
        self._faults = faults
        self._open_log = open_log
        self._clock = clock
        self._backlog: Backlog | None = None

    async def checks(self) -> Mapping[str, Check]:
        """Return whether it leads or hears a leader, the broker answers, and topics are right."""
        return {
            "role": self._role(),
            "broker": broker_check(await self.lag()),
            "topics": topic_check(self._faults()),
        }

    def _measure(self) -> Lag | None:
        """Return how many commands have no answer in the log, and for how long one was seen so."""
        sequencer = self._sequencing()
        if sequencer is None:
            return None
        if self._backlog is None:
            self._backlog = Backlog(self._open_log(), Topic.COMMANDS)
        now_ms = self._clock.now_ms()
        head = sequencer.acceptor.head
        return self._backlog.measure(self._clock, head.position, head.last_cmd + 1, now_ms)

    def _role(self) -> Check:
        sequencer = self._sequencing()
        if sequencer is None:
            return Check(is_up=False, detail="the state is being loaded")
        head = sequencer.acceptor.head
        text = f"{sequencer.role}, epoch {head.epoch}, position {head.position}"
        if sequencer.hears_leader():
            return Check(is_up=True, detail=text)
        return Check(is_up=False, detail=f"{text}; no sequencer leads now")


class SequencerCollector(LagCollector):
    """Collects the metrics of a sequencer, none before it exists; `lag` is its queue."""

    def __init__(self, sequencing: Sequencing, faults: TopicFaults = tuple) -> None:
        self._sequencing = sequencing
        self._faults = faults

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as of now."""
        sequencer = self._sequencing()
        if sequencer is not None:
            yield from decided(sequencer.tally)
            yield from standing(sequencer)
            wrong = len(self._faults())
            yield of_role("topic_faults", "Settings of topics that may lose records", wrong)
            if self.lag is not None:
                waited_s = self.lag.behind_ms / 1000
                yield of_role("queue", "Commands without an answer in the log", self.lag.records)
                yield of_role("queue_seconds", "For how long one was seen waiting", waited_s)


def decided(tally: SequencerTally) -> Iterator[Metric]:
    """Yield the counters since the process started."""
    yield SummaryMetricFamily(
        "lakeledger_sequencer_decide_seconds",
        "Time from reading commands to appending their answers, by decision",
        count_value=tally.decisions,
        sum_value=tally.seconds,
    )
    yield count("bursts", "Reads of commands, of which several may come together", tally.bursts)
    yield count("claims", "Fences appended to take over", tally.claims)
    yield count("takeovers", "Terms that this process began to lead", tally.terms)
    conflicts = CounterMetricFamily(
        "lakeledger_sequencer_conflicts", "Commits that lost, by exception", labels=("exception",)
    )
    for name, number in sorted(dict(tally.conflicts).items()):
        conflicts.add_metric((name,), number)
    yield conflicts
    refusals = CounterMetricFamily(
        "lakeledger_sequencer_refusals", "Refused commands, by reason", labels=("reason",)
    )
    for name, number in sorted(dict(tally.refusals).items()):
        refusals.add_metric((name,), number)
    yield refusals


def standing(sequencer: Sequencer) -> Iterator[Metric]:
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
    yield count("checkpoints", "State checkpoints written", newest.written)


def of_role(name: str, about: str, value: float) -> Metric:
    """Return a number of the sequencer that goes up and down."""
    return gauge(f"sequencer_{name}", about, value)


def count(name: str, about: str, value: float) -> Metric:
    """Return a number of the sequencer that only grows."""
    return CounterMetricFamily(f"lakeledger_sequencer_{name}", about, value)


def broker_check(lag: Lag | LedgerError | None) -> Check:
    """Return whether the broker answers."""
    if not isinstance(lag, Lag):
        return Check(is_up=False, detail=f"unknown: {lag or 'the state is being loaded'}")
    return Check(is_up=True, detail=f"{lag.records} commands have no answer in the log")


def topic_check(faults: Sequence[str]) -> Check:
    """Return whether the topics have the settings that the ledger needs."""
    return Check(not faults, "; ".join(faults) or "their settings are as they must be")


def sequencer_pages(
    sequencing: Sequencing,
    open_log: Callable[[], Log],
    clock: Clock,
    faults: TopicFaults = tuple,
) -> WebPages[SequencerSource]:
    """Return the pages of a sequencer: its position, its health and its metrics."""
    readers = Readers(lambda: SequencerSource(sequencing), THREADS)
    health = SequencerHealth(PositionWaiting(readers), sequencing, open_log, clock, faults)
    return WebPages(readers, (), health, Metrics(SequencerCollector(sequencing, faults)))


def serve_probes(
    sequencers: Sequence[Sequencer],
    open_log: Callable[[], Log],
    settings: SequencerSettings,
    clock: Clock,
    doors: WebSettings = UNLOCKED,
    *,
    faults: TopicFaults = tuple,
) -> WebServer:
    """Serve health and metrics of the first sequencer, once there is one.

    Raises SettingsError if the server cannot listen.
    """
    pages = sequencer_pages(lambda: sequencers[0] if sequencers else None, open_log, clock, faults)
    endpoint, hosts = Endpoint.parse(settings.http), hosts_of(settings.hosts)
    return WebServer.start(pages, endpoint, hosts=hosts, setting="sequencer.hosts", doors=doors)
