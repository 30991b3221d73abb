"""A leader and its standby over a log in memory, time moved by hand."""

from collections.abc import Callable
from typing import Final

import pytest

from ledger.checkpoint import Checkpoint, CheckpointWriter
from ledger.core.commands import Command, OpenTxn
from ledger.core.decide import decide
from ledger.core.events import Body
from ledger.core.state import DomainState
from ledger.errors import FencedError, LogDamagedError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.sequencer import Sequencer, beat_epoch
from ledger.settings import Genesis, SequencerSettings
from ledger.testing import FixedClock
from tests.driver import CATALOG, Driver
from tests.integration.raw_client import UNNUMBERED, RawClient
from tests.sdk.test_tail import Renamed

SLOW_S: Final = 0.5
ROUND_S: Final = 0.1
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
        """Let the leader do a round."""
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

    assert [each.control.txn for each in answers] == list(range(1, COMMANDS + 1))
    assert (busy.leader.role, busy.standby.role) == ("leading", "standby")
    busy.leader.close()
    busy.standby.close()


class Succession:
    """Sequencers that all need the same time for a decision, each deposed by who stands by."""

    def __init__(self) -> None:
        self.log, self.clock = MemoryLog(), FixedClock()
        self.decision_s = 0.0
        self.deposed = 0
        self.leader, self.standby = self._sequencer(), self._sequencer()

    def turn(self) -> None:
        """Let all do a round; who was deposed is replaced, as its supervisor would."""
        self.clock.advance(ROUND_S)
        try:
            self.leader.step(0.0)
        except FencedError:
            self.deposed += 1
            self.leader.close()
            self.leader, self.standby = self.standby, self._sequencer()
        self.standby.step(0.0)

    def _sequencer(self) -> Sequencer:
        return Sequencer(self.log, Genesis("slow"), clock=self.clock, decisions=self._decide)

    def _decide(self, state: DomainState, command: Command, now: int) -> Body:
        for _ in range(round(self.decision_s / ROUND_S)):
            self.clock.advance(ROUND_S)
            if self.standby.leader is None:
                self.standby.step(0.0)
        return decide(state, command, now)


@pytest.mark.parametrize(("decision_s", "deposed"), [(1.0, 0), (2.0, 2), (4.0, 3), (9.0, 4)])
def test_one_slow_decision(decision_s: float, deposed: int) -> None:
    """A command that takes longer than standbys wait is decided after all, by a later leader."""
    succession = Succession()
    client = RawClient(succession.log, succession.turn)
    session = client.open_session()
    succession.decision_s = decision_s
    client.send(session, OPEN_TXN)
    answer = client.wait_for(lambda event: event.control.session == session)

    assert (answer.control.txn, succession.deposed) == (1, deposed)
    succession.leader.close()
    succession.standby.close()


@pytest.mark.parametrize("asks", [False, True])
def test_patience_is_for_decisions(asks: bool) -> None:  # noqa: FBT001
    """However many leaders ended without a decision, with nothing to decide none waits longer."""
    log, clock = MemoryLog(), FixedClock()
    client = RawClient(log, lambda: None)
    for _ in range(5):
        waited_s(log, clock)
    if asks:
        client.send(1, OPEN_TXN)

    patience_s = SequencerSettings().suspect_s
    took_s = waited_s(log, clock)
    assert 8 * patience_s < took_s < 10 * patience_s if asks else took_s < 2 * patience_s


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
def test_beats(value: bytes, epoch: int) -> None:
    """What is no beat is no sign of a leader, and ends nobody who hears it."""
    assert beat_epoch(value) == epoch
