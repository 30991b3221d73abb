"""The checkpoint of a store that grows old: when it is replaced, and what a restart reads then."""

from collections.abc import Sequence
from pathlib import Path
from threading import Event as Signal

import pytest

from ledger.log import checkpoints
from projections.errors import StoreUnavailableError
from projections.fold.aging import SHARE, AgingCheckpoint
from projections.fold.fold import Fold
from projections.fold.follower import Follower
from projections.rows.keys import CHECKPOINT
from projections.store.memory import MemoryStore
from projections.store.port import RowChange, RowStore
from tests.conformance.case_ledger import ManualClock
from tests.driver import Driver, definition
from tests.projections.digests import digest
from tests.projections.followed import rows_of

AGE_S = 60.0


class SlowStore(MemoryStore):
    """A store in which a write takes as long as it is told to."""

    write_s = 0.0

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        super().__init__()

    def write(self, changes: Sequence[RowChange]) -> None:
        self._clock.elapsed_s += self.write_s
        super().write(changes)


class Full(MemoryStore):
    """A store on a disk that may be full."""

    is_full = False

    def write(self, changes: Sequence[RowChange]) -> None:
        if self.is_full:
            raise StoreUnavailableError(Path("rows"), "no space left")
        super().write(changes)


class Aged:
    """A store that follows a driver by hand, and its checkpoint by a clock that stands still."""

    def __init__(self, *, every: int = 1_000) -> None:
        self.clock = ManualClock()
        self.driver = Driver()
        self.store = SlowStore(self.clock)
        self.fold = Fold.load(self.store, self.driver.log, checkpoint_every=every)
        self.aging = AgingCheckpoint(self.fold, AGE_S, clock=self.clock)
        self.follow()

    def follow(self) -> None:
        """Store the rows of every event."""
        self.fold.feed(self.driver.records[self.fold.offset :])

    def go_on(self) -> int:
        """Let another event happen and be stored; return its position."""
        position = self.driver.open_session()
        self.follow()
        return position

    def after(self, seconds: float) -> int:
        """Let time pass and look; return where a restart would begin."""
        self.clock.elapsed_s += seconds
        self.aging.replace_if_old()
        return restarted(self.store, self.driver)


def restarted(store: RowStore, driver: Driver) -> int:
    return Fold.load(store, driver.log).position


@pytest.fixture
def aged() -> Aged:
    """Return a store without a checkpoints."""
    return Aged()


def test_an_old_checkpoint_is_replaced_by_one_of_the_last_event(aged: Aged) -> None:
    last = aged.go_on()
    assert [aged.after(AGE_S - 1), aged.after(1)] == [0, last]
    newer = aged.go_on()
    assert [aged.after(AGE_S - 1), aged.after(1)] == [last, newer]


def test_without_an_event_nothing_is_written_however_long(aged: Aged) -> None:
    aged.after(AGE_S)
    aged.store.write_s = 1.0
    before = aged.clock.elapsed_s
    aged.after(100 * AGE_S)
    assert aged.clock.elapsed_s == before + 100 * AGE_S
    aged.store.write_s = 0.0
    last = aged.go_on()
    assert aged.after(0) == last


def test_one_by_position_is_young() -> None:
    aged = Aged(every=7)
    aged.clock.elapsed_s += AGE_S - 1
    while aged.fold.position < 7:
        aged.go_on()
    aged.after(0)
    last = aged.go_on()
    assert [aged.after(AGE_S - 1), aged.after(1)] == [7, last]


def test_time_it_takes_is_bounded(aged: Aged) -> None:
    """What takes long is done so rarely that the fold stands still for a hundredth of the time."""
    first = aged.go_on()
    aged.store.write_s = 2.0
    assert aged.after(AGE_S) == first
    aged.store.write_s = 0.0
    last = aged.go_on()
    assert [aged.after(2 * SHARE - 1), aged.after(1)] == [first, last]


def test_the_larger_a_state_is_the_more_positions_lie_between_two_checkpoints_due_by_them() -> None:
    aged = Aged(every=2)
    large = definition()._replace(location="x" * 20 * checkpoints.BYTES_PER_POSITION)
    aged.driver.create_table(aged.driver.open_session(), "flights", made=large)
    created = aged.driver.head.position
    aged.follow()
    while aged.fold.checkpointed < created:
        aged.go_on()
    first = aged.fold.checkpointed
    while aged.fold.checkpointed == first:
        last = aged.go_on()
    assert (aged.fold.checkpointed, last > first + 20) == (last, True)


def test_not_while_the_log_is_read_again(aged: Aged) -> None:
    aged.go_on()
    last = aged.go_on()
    fold = Fold.load(aged.store, aged.driver.log)
    fold.feed(aged.driver.records[: last - 1])
    assert fold.store_checkpoint() == 0
    fold.feed(aged.driver.records[last - 1 :])
    assert fold.store_checkpoint() > 0
    assert restarted(aged.store, aged.driver) == last


def test_events_without_rows_are_not_read_again() -> None:
    """A publisher of no table makes no rows, and a trim waits for the place of its checkpoint."""
    driver, store = Driver(), MemoryStore()

    def loaded() -> Fold:
        return Fold.load(store, driver.log, rows_of=lambda _applied, _body: [])

    fold = loaded()
    fold.feed(driver.records)
    assert fold.store_checkpoint() > 0
    fold = loaded()
    assert (fold.position, fold.mark.position) == (driver.head.position, driver.head.position)
    driver.open_session()
    fold.feed(driver.records[fold.offset :])
    assert fold.position == driver.head.position


def test_after_a_write_that_failed_no_checkpoint_says_that_its_rows_are_there() -> None:
    driver, store = Driver(), Full()
    fold = Fold.load(store, driver.log)
    fold.feed(driver.records[:2])
    store.is_full = True
    with pytest.raises(StoreUnavailableError):
        fold.feed(driver.records[2:])
    store.is_full = False
    assert fold.store_checkpoint() == 0
    assert restarted(store, driver) == 0


def test_records_that_do_not_count(aged: Aged) -> None:
    aged.driver.append(aged.driver.records[0].value)
    aged.follow()
    assert aged.after(AGE_S) == 3
    aged.driver.open_session()
    aged.fold = Fold.load(aged.store, aged.driver.log)
    aged.follow()
    assert digest(aged.store) == digest(rows_of(aged.driver))


def test_what_is_stored_is_the_state_and_the_head_of_the_log_at_that_position(aged: Aged) -> None:
    aged.go_on()
    aged.after(AGE_S)
    data = aged.store.get(CHECKPOINT)
    assert data is not None
    found = checkpoints.load(data)
    driver = aged.driver
    assert checkpoints.digest(*found[:2]) == checkpoints.digest(driver.state, driver.head)
    assert found.offset == len(driver.records)


def test_a_follower_that_is_killed_after_that_time_begins_again_with_its_last_record() -> None:
    driver, store, clock, stop = Driver(), MemoryStore(), ManualClock(), Signal()
    last = driver.open_session()
    follower = Follower(driver.log, store, caught_up=stop.set, checkpoint_s=AGE_S, clock=clock)
    clock.elapsed_s += AGE_S
    follower.run(stop)

    fold = Fold.load(store, driver.log)
    assert (fold.position, fold.offset) == (last, len(driver.records) - 1)
