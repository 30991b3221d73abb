"""Checkpoints of a leader: written where it is alone, and left to standbys where there are any."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

import pytest
from structlog.typing import EventDict

from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.acceptance import LogHead
from ledger.core.commands import OpenTxn
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.errors import LogUnavailableError, StateBrokenError
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import digest, read_newest
from ledger.log.lossy import LossyLog
from ledger.log.port import LogReader, Topic
from ledger.sequencer.checkpointing import AGED, ALONE_S, OVERDUE
from ledger.sequencer.sequencer import Sequencer
from ledger.testing import FixedClock
from tests.integration.raw_client import UNNUMBERED, RawClient
from tests.integration.slow_log import PausedReader

POSITIONS: Final = 20
SETTINGS: Final = SequencerSettings(checkpoint_positions=POSITIONS)
ROUND_S: Final = 0.1
OPEN_TXN: Final = OpenTxn(*UNNUMBERED, "default", 1, 0)


class HeldUpLog(LossyLog):
    """A log in memory whose events can be held up on their way back, or whose broker is silent."""

    is_held_up = False
    is_silent = False

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        if self.is_silent and topic is Topic.CHECKPOINTS:
            raise LogUnavailableError("no answer in time")
        return super().ends(topic, timeout_s)

    def reader(self, topic: Topic, offset: int) -> LogReader:  # type: ignore[override]
        reader = super().reader(topic, offset)
        return PausedReader(reader, lambda: topic is Topic.EVENTS and self.is_held_up)


class Led:
    """A ledger that one sequencer leads, alone but for the standbys that a test starts."""

    def __init__(self) -> None:
        self.log, self.clock = HeldUpLog(), FixedClock()
        self.sequencer = self.start()
        self.standbys: list[Sequencer] = []
        self.client = RawClient(self.log, self.turn)
        self.session = self.client.open_session()

    def start(self) -> Sequencer:
        return Sequencer(
            self.log, Genesis("led"), settings=SETTINGS, clock=self.clock, checks_state=True
        )

    def turn(self) -> None:
        self.clock.advance(ROUND_S)
        for each in (self.sequencer, *self.standbys):
            each.step(0.0)

    def ask(self, count: int) -> None:
        """Let the leader decide so many commands, a round each."""
        for _ in range(count):
            self.client.ask(self.session, OPEN_TXN)

    def rest(self, seconds: float) -> None:
        """Let time pass in which nobody asks anything but the session beats."""
        for _ in range(round(seconds / ROUND_S)):
            self.client.beat(self.session)
            self.turn()

    def checkpoint(self) -> int:
        """Return the position of the newest checkpoint, 0 without one; it is what the log says."""
        found = read_newest(self.log, 0)
        if found is None:
            return 0
        state, acceptor = DomainState(), Acceptor(LogHead())
        for record in self.log.topics[Topic.EVENTS].records[: found.offset]:
            event = acceptor.take(record.value)
            if event is not None:
                evolve(state, event)
        assert digest(found.state, found.head) == digest(state, acceptor.head)
        return found.head.position

    def close(self) -> None:
        """Let go of the log."""
        self.client.close()
        for each in (self.sequencer, *self.standbys):
            each.close()


@pytest.fixture
def led() -> Iterator[Led]:
    with closing(Led()) as led:
        yield led


def test_leader_alone(led: Led) -> None:
    """One that is due is written once it is known that nobody else writes it, and again later."""
    led.ask(POSITIONS)
    led.rest(ALONE_S / 2)
    early = led.checkpoint()
    led.rest(ALONE_S)
    first = led.checkpoint()
    led.ask(POSITIONS)
    led.rest(2 * ALONE_S)
    second = led.checkpoint()

    assert early == 0
    assert POSITIONS <= first < second - POSITIONS + 1
    successor = led.start()
    assert successor.acceptor.head.position == second
    successor.close()


def test_state_that_breaks_an_invariant(led: Led) -> None:
    """A standby whose state contradicts itself ends with that, and writes no checkpoint."""
    standby = led.start()
    led.standbys.append(standby)
    standby.state.txns.mapped += 1

    with pytest.raises(StateBrokenError, match="write_ids_are_dense: mapped must be 0, got 1"):
        led.ask(2 * POSITIONS)

    assert led.checkpoint() == 0


def test_few_events(led: Led) -> None:
    """None is written before there are so many events that a standby would write one."""
    led.ask(POSITIONS // 2)
    led.rest(3 * ALONE_S)

    assert led.checkpoint() == 0


@pytest.mark.parametrize("standbys", [0, 1])
def test_few_events_that_are_old(led: Led, standbys: int) -> None:
    """One is written by age too: by a standby, or else by the leader; none without an event."""
    led.standbys += [led.start() for _ in range(standbys)]
    led.ask(POSITIONS // 2)
    led.clock.advance(SETTINGS.checkpoint_s - ALONE_S)
    led.rest(ALONE_S / 2)
    assert led.checkpoint() == 0
    for _ in range(3):  # Sessions and txns end meanwhile, which are events.
        led.clock.advance(AGED * SETTINGS.checkpoint_s)
        led.rest(2 * ALONE_S)
    writers = [led.sequencer, *led.standbys]
    written = [each.checkpointing.written for each in writers]
    assert led.checkpoint() == led.sequencer.acceptor.head.position > 0
    assert [bool(each) for each in written] == [not standbys, *[True] * standbys]
    led.clock.advance(AGED * SETTINGS.checkpoint_s)
    led.turn()
    led.clock.advance(ALONE_S)
    led.turn()
    assert [each.checkpointing.written for each in writers] == written


def test_leader_with_a_standby(led: Led) -> None:
    """Where a standby writes them the leader writes none."""
    led.standbys.append(led.start())
    for _ in range(6):
        led.ask(POSITIONS)
        led.rest(2 * ALONE_S)

    assert led.sequencer.leader is not None
    assert led.checkpoint() >= 5 * POSITIONS
    assert led.log.writers[Topic.CHECKPOINTS] == 1


def test_a_leader_whose_standby_ended_writes_the_next_one_itself(led: Led) -> None:
    led.standbys.append(led.start())
    led.ask(2 * POSITIONS)
    led.rest(2 * ALONE_S)
    before = led.checkpoint()
    led.standbys.pop().close()
    led.ask(POSITIONS)
    led.rest(3 * ALONE_S)
    led.ask(POSITIONS)
    led.rest(3 * ALONE_S)

    assert before
    assert led.checkpoint() > before


def test_a_leader_without_a_free_moment_stops_for_an_overdue_one(led: Led) -> None:
    before: list[int] = []
    while not (position := led.checkpoint()):
        before.append(led.client.acceptor.head.position)
        assert before[-1] < 4 * OVERDUE * POSITIONS, "none is written"
        # The next command comes before the answer to the one before is back.
        led.log.is_held_up = not led.log.is_held_up
        led.client.send(led.session, OPEN_TXN)
        led.turn()
        led.client.read()

    assert before[-1] > OVERDUE * POSITIONS / 2
    assert position > POSITIONS
    led.log.is_held_up = False
    led.ask(1)


@pytest.mark.parametrize("fault", ["refused", "unacknowledged"])
def test_checkpoint_that_fails(led: Led, fault: str, log_lines: Sequence[EventDict]) -> None:
    """A leader whose checkpoint does not arrive says so, leads on, and writes the next one."""
    led.ask(POSITIONS)
    getattr(led.log, fault)[Topic.CHECKPOINTS] = 1
    led.rest(2 * ALONE_S)
    failed = [line["event"] for line in log_lines if line["log_level"] == "warning"]
    led.ask(POSITIONS)
    led.rest(2 * ALONE_S)

    assert failed == ["checkpoint not written"]
    assert led.sequencer.leader is not None
    assert led.checkpoint() > 2 * POSITIONS


def test_none_is_written_while_it_is_unknown_whether_there_is_one(led: Led) -> None:
    led.ask(POSITIONS)
    led.rest(ALONE_S / 2)
    led.log.is_silent = True
    led.rest(2 * ALONE_S)
    led.log.is_silent = False
    away = led.checkpoint()
    led.rest(3 * ALONE_S)

    assert away == 0
    assert led.checkpoint() >= POSITIONS
