"""A leader and its standby over a log in memory, time moved by hand."""

from collections.abc import Callable, Sequence
from typing import Final

import pytest
from structlog.typing import EventDict

from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.commands import Command, OpenTxn
from ledger.core.decide.decide import decide
from ledger.core.events.events import Body, CommandRefused, TxnOpened
from ledger.core.refusals import Reason
from ledger.core.state.domain import DomainState
from ledger.errors import FencedError, LogDamagedError
from ledger.log.checkpoints import Checkpoint, CheckpointWriter
from ledger.log.memory import MemoryLog
from ledger.log.other_topics import beat_epoch
from ledger.log.port import LogReader, Topic
from ledger.sequencer.sequencer import Sequencer
from ledger.testing import FixedClock
from tests.driver import CATALOG, Driver
from tests.integration.raw_client import UNNUMBERED, RawClient
from tests.integration.slow_log import PausedReader
from tests.sdk.test_tail import Renamed

SLOW_S: Final = 0.5
ROUND_S: Final = 0.1
ROUNDS: Final = 20
COMMANDS: Final = 20
OPEN_TXN: Final = OpenTxn(*UNNUMBERED, "default", 1, 0)


class Busy:
    """A leader whose decisions take time, in which its standby goes on."""

    def __init__(self) -> None:
        self.log, self.clock = MemoryLog(), FixedClock()
        self.decision_s = 0.0
        self.leader = self._sequencer(self._decide)
        self.standby = self._sequencer(decide)

    def turn(self) -> None:
        self.leader.step(0.0)

    def _sequencer(self, rule: Callable[[DomainState, Command, int], Body]) -> Sequencer:
        return Sequencer(self.log, Genesis("busy"), clock=self.clock, decisions=rule)

    def _decide(self, state: DomainState, command: Command, now: int) -> Body:
        if self.decision_s:
            self.clock.advance(self.decision_s)
            self.standby.step(0.0)
        return decide(state, command, now)


def test_slow_decisions() -> None:
    """Commands that take long together depose no leader: what is decided of them shows its life."""
    busy = Busy()
    client = RawClient(busy.log, busy.turn)
    session = client.open_session()
    busy.decision_s = SLOW_S
    for _ in range(COMMANDS):
        client.send(session, OPEN_TXN)

    answers = [
        client.wait_for(lambda event: event.control.session == session) for _ in range(COMMANDS)
    ]

    assert [answer.control.txn for answer in answers] == list(range(1, COMMANDS + 1))
    assert (busy.leader.role, busy.standby.role) == ("leading", "standby")
    busy.leader.close()
    busy.standby.close()


class HeldUpLog(MemoryLog):
    """A log in memory whose events can be held up on their way back."""

    is_held_up = False

    def reader(self, topic: Topic, offset: int) -> LogReader:  # type: ignore[override]
        reader = super().reader(topic, offset)
        if topic is not Topic.EVENTS:
            return reader
        return PausedReader(reader, lambda: self.is_held_up)


@pytest.mark.parametrize(
    ("settings", "decided"),
    [
        (SequencerSettings(flight_max=3), [1, 1, 1, 0, 0]),
        (SequencerSettings(flight_bytes_max=1), [1, 0, 0, 0, 0]),
    ],
    ids=["events", "bytes"],
)
def test_room_for_events_on_their_way(settings: SequencerSettings, decided: list[int]) -> None:
    """A leader decides nothing while all it may have sent is away, and goes on once it is back."""
    log = HeldUpLog()
    sequencer = Sequencer(log, Genesis("full"), settings=settings, clock=FixedClock())
    client = RawClient(log, lambda: sequencer.step(0.0))
    session, leader = client.open_session(), sequencer.leader
    assert leader is not None

    def decides(*, is_held_up: bool) -> int:
        log.is_held_up = is_held_up
        client.send(session, OPEN_TXN)
        return leader.step(0.0)

    held = [decides(is_held_up=True) for _ in range(5)]
    log.is_held_up = False
    leader.step(0.0)
    behind = len(held) - sum(held)

    assert held == decided
    assert decides(is_held_up=False) == behind + 1
    sequencer.close()


class KilledError(BaseException):
    """What ends a process in the middle of a decision, as the system does that has no memory."""


class Succession:
    """Two sequencers that need time for a decision, and are replaced when they end.

    A txn of so many ids as `killed_by` ends whoever decides it; `ended` counts who has.
    """

    def __init__(self) -> None:
        self.log, self.clock = MemoryLog(), FixedClock()
        self.decision_s, self.killed_by = 0.0, 0
        self.ended = 0
        self.sequencers = [self._sequencer(), self._sequencer()]

    def turn(self) -> None:
        """Let both do some rounds; who ends by one is replaced, as its supervisor would."""
        for place in ROUNDS * [0, 1]:
            self.clock.advance(ROUND_S / 2)
            try:
                self.sequencers[place].step(0.0)
            except (FencedError, KilledError):
                self.ended += 1
                self.sequencers[place].close()
                self.sequencers[place] = self._sequencer()

    def close(self) -> None:
        """Let go of the log."""
        for sequencer in self.sequencers:
            sequencer.close()

    def _sequencer(self) -> Sequencer:
        return Sequencer(self.log, Genesis("slow"), clock=self.clock, decisions=self._decide)

    def _decide(self, state: DomainState, command: Command, now: int) -> Body:
        for _ in range(round(self.decision_s / ROUND_S)):
            self.clock.advance(ROUND_S)
            for sequencer in self.sequencers:
                if sequencer.leader is None:
                    sequencer.step(0.0)
        if isinstance(command, OpenTxn) and command.size == self.killed_by:
            raise KilledError
        return decide(state, command, now)


@pytest.mark.parametrize(("decision_s", "ended"), [(1.0, 0), (2.0, 2), (4.0, 3), (9.0, 4)])
def test_a_slow_command_is_decided_by_a_later_leader(decision_s: float, ended: int) -> None:
    succession = Succession()
    client = RawClient(succession.log, succession.turn)
    session = client.open_session()
    succession.decision_s = decision_s
    client.send(session, OPEN_TXN)
    answer = client.wait_for(lambda event: event.control.session == session)

    assert (answer.control.txn, succession.ended) == (1, ended)
    succession.close()


@pytest.mark.parametrize("before", [0, 3])
def test_a_command_that_ends_its_leader_is_refused_after_some_leaders(before: int) -> None:
    succession = Succession()
    client = RawClient(succession.log, succession.turn)
    session = client.open_session()
    succession.killed_by = 2
    sizes = [1] * before + [2] + [1] * 3
    for size in sizes:
        client.send(session, OPEN_TXN._replace(size=size))
    answers = [client.wait_for(lambda event: event.control.session == session) for _ in sizes]
    succession.close()

    assert [answer.control.n for answer in answers] == [n + 1 for n in range(len(sizes))]
    refused = answers[before].body
    assert isinstance(refused, CommandRefused)
    assert refused.reason == Reason.COMMAND_FAILED
    assert refused.message == "6 leaders in a row ended before they answered it"
    opened = [answer.control.txn for answer in answers if isinstance(answer.body, TxnOpened)]
    assert opened == [n + 1 for n in range(len(sizes) - 1)]


def test_a_decision_without_end() -> None:
    succession = Succession()
    client = RawClient(succession.log, succession.turn)
    session = client.open_session()
    succession.decision_s = 20.0
    refused = client.ask(session, OPEN_TXN)
    succession.decision_s = 0.0
    opened = client.ask(session, OPEN_TXN)
    succession.close()

    assert isinstance(refused.body, CommandRefused)
    assert (refused.control.n, opened.control.n, opened.control.txn) == (1, 2, 1)


@pytest.mark.parametrize(("asks_after", "is_patient"), [(None, False), (8, False), (1, True)])
def test_patience_is_for_decisions(asks_after: int | None, *, is_patient: bool) -> None:
    log, clock = MemoryLog(), FixedClock()
    client = RawClient(log, lambda: None)
    for number in range(8):
        waited_s(log, clock)
        if number + 1 == asks_after:
            age(log)
            client.send(1, OPEN_TXN)

    patience_s = SequencerSettings().suspect_s
    took_s = waited_s(log, clock)
    assert 8 * patience_s < took_s < 10 * patience_s if is_patient else took_s < 2 * patience_s


def test_leaders_that_had_nothing_to_do() -> None:
    log, clock = MemoryLog(), FixedClock()
    for _ in range(8):
        waited_s(log, clock)
    age(log)
    sequencer = Sequencer(log, Genesis("idle"), clock=clock)

    def turn() -> None:
        clock.advance(ROUND_S)
        sequencer.step(0.0)

    assert RawClient(log, turn).open_session()
    sequencer.close()


def age(log: MemoryLog) -> None:
    """Make all events a second older: a whole term may pass here within a millisecond."""
    records = log.topics[Topic.EVENTS].records
    records[:] = [record._replace(timestamp=record.timestamp - 1000) for record in records]


def waited_s(log: MemoryLog, clock: FixedClock) -> float:
    """Return how long a sequencer stands by before it leads, to end at once."""
    sequencer, began_s = Sequencer(log, Genesis("idle"), clock=clock), clock.monotonic_s()
    while sequencer.leader is None:
        clock.advance(ROUND_S)
        sequencer.step(0.0)
    sequencer.close()
    return clock.monotonic_s() - began_s


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_events_of_another_topic(has_checkpoint: bool) -> None:  # noqa: FBT001
    """A copy of a ledger's events is not gone on with: no txn of the ledger is ended in it."""
    driver = Driver()
    driver.open_txn(driver.open_session())
    if has_checkpoint:
        writer = CheckpointWriter(driver.log.writer(Topic.CHECKPOINTS), 0)
        writer.write(Checkpoint(driver.state, driver.head, len(driver.records)))
    before = len(driver.records)

    with pytest.raises(LogDamagedError, match="recorded in topic events-0 and is read from copy"):
        Sequencer(Renamed(driver.log), Genesis("copy", CATALOG)).step(0.0)
    assert len(driver.records) == before


@pytest.mark.parametrize(
    ("value", "epoch"),
    [
        (b'{"epoch": 7, "sequencer": "s"}', 7),
        (b"", -1),
        (b"7", -1),
        (b"{}", -1),
        (b'{"epoch": null}', -1),
        (b'{"epoch": NaN}', -1),
        (b'{"epoch": 1e400}', -1),
        (b"[" * 100_000, -1),
        (b"\xff", -1),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_beat_is_no_sign_of_a_leader(value: bytes, epoch: int) -> None:
    assert beat_epoch(value) == epoch


@pytest.mark.parametrize(("given", "warned"), [("lake", []), ("main", [("lake", "main")])])
def test_catalog_that_does_not_count(
    given: str, warned: list[tuple[str, str]], log_lines: Sequence[EventDict]
) -> None:
    log, clock = MemoryLog(), FixedClock()
    first = Sequencer(log, Genesis("catalogs", "lake"), clock=clock)
    RawClient(log, lambda: first.step(0.0)).open_session()
    first.resign()
    second = Sequencer(log, Genesis("catalogs", given), clock=clock)
    RawClient(log, lambda: second.step(0.0)).open_session()
    second.close()

    assert {record.key for record in log.topics[Topic.EVENTS].records} == {b"lake"}
    told = [line for line in log_lines if line["log_level"] == "warning"]
    assert [(line["counts"], line["given"]) for line in told] == warned
