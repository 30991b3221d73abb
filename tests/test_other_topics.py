"""No sequencer claims in a log that holds less than other topics tell of it, alone or in pairs.

The log of a ledger that was in use loses its end. Each case leaves some of what tells of that: a
state checkpoint, whole or in part, the beats of a leader, the mark of a restore.
"""

from collections.abc import Callable
from contextlib import closing
from itertools import combinations
from typing import Final

import pytest

from ledger.config.settings import Genesis
from ledger.core.acceptance import LogHead
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import Checkpoint, CheckpointWriter, chunk_key
from ledger.log.memory import MemoryLog
from ledger.log.other_topics import LASTS_S
from ledger.log.port import Topic
from ledger.log.restored import Restored, write_restored
from ledger.recovery.cutting import append_cut
from ledger.recovery.survey import survey
from ledger.sequencer.sequencer import Sequencer
from ledger.testing import FixedClock
from tests.driver import LEDGER, Driver

ROUND_S: Final = 0.1
# So many rounds take longer than a sequencer is patient with a silent leader.
PATIENT: Final = 40
LOST_ROUNDS: Final = PATIENT + round(2 * LASTS_S / ROUND_S)
KEPT: Final = 4


def folded(driver: Driver) -> Checkpoint:
    state, batches = DomainState(), BatchAcceptor(driver.log, Acceptor(LogHead()), 0)
    for _, event in batches.events(driver.records):
        if event is not None:
            evolve(state, event)
    return Checkpoint(state, batches.acceptor.head, batches.offset)


def a_checkpoint(driver: Driver) -> None:
    """Leave a state checkpoint of the whole log."""
    with closing(driver.log.writer(Topic.CHECKPOINTS)) as writer:
        CheckpointWriter(writer, 0).write(folded(driver))


def part_of_a_checkpoint(driver: Driver) -> None:
    """Leave a state checkpoint of the whole log, of which the state is gone."""
    a_checkpoint(driver)
    with closing(driver.log.writer(Topic.CHECKPOINTS)) as writer:
        writer.append(chunk_key(0, driver.head.position, 0), b"")


def a_beat(driver: Driver) -> None:
    with closing(driver.log.writer(Topic.BEATS)) as writer:
        writer.append(b"0", f'{{"epoch": {driver.head.epoch}, "sequencer": "last"}}'.encode())


def the_mark_of_a_restore(driver: Driver) -> None:
    topic, position = driver.log.topic_id(Topic.EVENTS), driver.head.position
    count = len(driver.records)
    write_restored(driver.log, 0, Restored(LEDGER, topic, position, count, "", is_whole=True))


Left = Callable[[Driver], None]
WITNESSES: Final[tuple[Left, ...]] = (
    a_checkpoint,
    part_of_a_checkpoint,
    a_beat,
    the_mark_of_a_restore,
)
CASES: Final = [left for count in (1, 2) for left in combinations(WITNESSES, count)]


def named(left: tuple[Left, ...]) -> str:
    return " and ".join(each.__name__ for each in left)


def lived() -> Driver:
    """Return a ledger that was in use, under two leaders."""
    driver = Driver()
    driver.open_session("ada")
    driver.fence()
    driver.open_session("bob")
    return driver


def start(log: MemoryLog, clock: FixedClock) -> Sequencer:
    return Sequencer(log, Genesis("demo"), clock=clock)


def leads(log: MemoryLog, rounds: int = PATIENT) -> bool:
    """Tell whether a sequencer that is started comes to lead; raises what ends it."""
    clock = FixedClock()
    with closing(start(log, clock)) as sequencer:
        for _ in range(rounds):
            clock.advance(ROUND_S)
            sequencer.step(0.0)
        return sequencer.leader is not None


@pytest.fixture
def driver() -> Driver:
    return lived()


@pytest.mark.parametrize("left", CASES, ids=named)
def test_a_sequencer_refuses_and_tells_the_way_back(driver: Driver, left: tuple[Left, ...]) -> None:
    for each in left:
        each(driver)
    driver.log.cut(Topic.EVENTS, KEPT)

    with pytest.raises(LogDamagedError, match="lakeledger recover") as raised:
        leads(driver.log, LOST_ROUNDS)

    assert "lost its end" in str(raised.value)
    assert driver.log.ends(Topic.EVENTS) == (0, KEPT)


@pytest.mark.parametrize("left", CASES, ids=named)
def test_log_that_grew_another_end(left: tuple[Left, ...]) -> None:
    """A checkpoint is compared by its chain too: a log as long as before may be another one."""
    driver = lived()
    for each in left:
        each(driver)
    other = Driver()
    other.open_session("eve")
    other.fence()
    while other.head.position <= driver.head.position:
        other.open_session("eve")
    is_told = bool({a_checkpoint, part_of_a_checkpoint} & set(left))
    driver.log.cut(Topic.EVENTS, 3)
    with closing(driver.log.writer(Topic.EVENTS)) as writer:
        for record in other.records[3:]:
            writer.append(record.key, record.value)
    if is_told:
        with pytest.raises(LogDamagedError, match="lakeledger recover"):
            leads(driver.log, LOST_ROUNDS)
    else:
        assert leads(driver.log, LOST_ROUNDS), "positions and epochs alone tell nothing here"


@pytest.mark.parametrize("left", CASES, ids=named)
def test_a_log_that_holds_all_is_led_at_once(driver: Driver, left: tuple[Left, ...]) -> None:
    for each in left:
        each(driver)
    assert leads(driver.log)


@pytest.mark.parametrize("left", WITNESSES)
def test_log_that_was_cut(driver: Driver, left: Left) -> None:
    left(driver)
    driver.log.cut(Topic.EVENTS, KEPT)
    found = survey(driver.log, None, listens_s=0.0)
    assert found.is_ahead
    append_cut(driver.log, found, "power cut")
    assert leads(driver.log)


def test_after_a_killed_recovery_another_leads_back_as_well(driver: Driver) -> None:
    a_checkpoint(driver)
    driver.log.cut(Topic.EVENTS, KEPT)
    ends = driver.log.ends(Topic.CHECKPOINTS)[1]
    append_cut(driver.log, survey(driver.log, None, listens_s=0.0), "power cut")
    driver.log.cut(Topic.CHECKPOINTS, ends)
    append_cut(driver.log, survey(driver.log, None, listens_s=0.0), "once more")
    assert leads(driver.log)


def test_events_that_a_broker_does_not_tell_yet_are_waited_for(driver: Driver) -> None:
    a_beat(driver)
    records, clock = driver.records[KEPT:], FixedClock()
    driver.log.cut(Topic.EVENTS, KEPT)
    with closing(start(driver.log, clock)) as sequencer:
        for _ in range(PATIENT):
            clock.advance(ROUND_S)
            sequencer.step(0.0)
        assert sequencer.role == "standby"
        with closing(driver.log.writer(Topic.EVENTS)) as writer:
            for record in records:
                writer.append(record.key, record.value)
        for _ in range(PATIENT):
            clock.advance(ROUND_S)
            sequencer.step(0.0)
        assert sequencer.leader is not None


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        (Topic.HEARTBEATS, b"9000000000", b""),
        (Topic.HEARTBEATS, b"leader", b"9000"),
        (Topic.BEATS, b"1", b'{"epoch": 9000, "sequencer": "of another domain"}'),
        (Topic.BEATS, b"0", b"what is this"),
        (Topic.CHECKPOINTS, b"0/9000/manifest", b"what is this"),
        (Topic.CHECKPOINTS, b"1/9000/0", b"of another domain"),
        (Topic.CATALOGS, b"0/restored", b"what is this"),
    ],
)
def test_what_is_no_witness(driver: Driver, topic: Topic, key: bytes, value: bytes) -> None:
    """What any client may write, or no sequencer wrote, keeps none from leading."""
    with closing(driver.log.writer(topic)) as writer:
        writer.append(key, value)
    assert leads(driver.log)
