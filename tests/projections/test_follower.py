"""The follower: it catches up, goes on, stops, resumes, rebuilds, and ends when it must."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Self

import pytest

from ledger.core.events.events import CatalogCreated
from ledger.errors import EventsLostError, LogDamagedError, OffsetGoneError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Log, Record, Topic
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import FINAL, exit_code
from projections.errors import StoreLockedError, StoreVersionError
from projections.fold.follower import Follower, follow, rebuild
from projections.fold.lag import Lag
from projections.queries import StoreReads, open_reads
from projections.rows.keys import value
from projections.store.memory import MemoryStore
from projections.store.port import FORMAT_VERSION, RowStore
from projections.store.rocks_store import RocksStore
from tests.conformance.case_ledger import ManualClock
from tests.driver import Driver
from tests.projections.digests import digest
from tests.projections.followed import rows_of

PATIENCE_MS = 20_000
PATIENCE_S = PATIENCE_MS / 1000
QUIET_S = 3_600.0


@contextmanager
def following(driver: Driver, store: RowStore) -> Iterator[StoreReads]:
    """Follow a driver's log into a store while the block runs; give its reads."""
    stop = Signal()
    follower = Follower(driver.log, store)
    thread = Thread(target=follower.run, args=(stop,))
    thread.start()
    try:
        yield StoreReads(store)
    finally:
        stop.set()
        thread.join(PATIENCE_S)


def caught_up(driver: Driver, store: RowStore) -> RowStore:
    return follow_to_end(driver.log, store)


def test_what_is_appended_while_the_follower_runs_turns_up_in_the_store() -> None:
    driver = Driver()
    with following(driver, MemoryStore()) as reads:
        reached = [reads.wait(driver.open_session(), PATIENCE_MS) for _ in range(3)]

    assert reached == [4, 5, 6]


def test_a_follower_that_is_told_to_stop_ends_with_every_row_of_what_it_applied() -> None:
    driver, store = Driver(), MemoryStore()
    with following(driver, store) as reads:
        reads.wait(driver.open_session(), PATIENCE_MS)

    assert digest(store) == digest(rows_of(driver))


def test_a_follower_that_is_told_to_stop_before_it_has_caught_up_never_says_that_it_has() -> None:
    stop = Signal()
    stop.set()
    told: list[bool] = []
    Follower(Driver().log, MemoryStore(), caught_up=lambda: told.append(True)).run(stop)

    assert told == []


def test_a_follower_started_again_goes_on_where_the_rows_end() -> None:
    driver, store = Driver(), MemoryStore()
    caught_up(driver, store)
    driver.open_session()
    caught_up(driver, store)

    assert digest(store) == digest(rows_of(driver))


def test_while_catching_up_it_tells_how_many_records_are_read_and_how_many_there_are() -> None:
    driver = Driver()
    driver.fence()
    driver.zombie(CatalogCreated("late"))
    told: list[tuple[int, int]] = []
    stop = Signal()
    follower = Follower(
        driver.log,
        MemoryStore(),
        progress=lambda read, end: told.append((read, end)),
        caught_up=stop.set,
    )
    follower.run(stop)

    assert told == [(5, 5)]


def test_a_ledger_that_does_not_exist_yet_is_caught_up_with_at_once() -> None:
    driver, stop = Driver(), Signal()
    driver.log.recreate(Topic.EVENTS)
    follower = Follower(driver.log, MemoryStore(), caught_up=stop.set)
    follower.run(stop)

    assert follower.fold.position == 0


def test_the_lag_is_counted_in_records_and_in_time_since_somebody_saw_that_there_are_any() -> None:
    driver, clock = Driver(), ManualClock()
    follower = Follower(driver.log, MemoryStore(), clock=clock)
    follower.fold.feed(driver.records)
    found = [follower.lag()]

    def after(seconds: float) -> None:
        clock.elapsed_s += seconds
        found.append(follower.lag())

    clock.elapsed_s = (driver.now - clock.now_ms()) / 1000 + QUIET_S
    driver.open_session()
    driver.now = clock.now_ms() + 2_000
    driver.open_session()
    after(0)
    after(3)
    follower.fold.feed(driver.records[3:4])
    after(1)
    follower.fold.feed(driver.records[4:])
    after(1)
    driver.open_session()
    after(1)

    assert found == [
        Lag(3, 0, 0),
        Lag(3, 2, 0),
        Lag(3, 2, 3_000),
        Lag(4, 1, 4_000),
        Lag(5, 0, 0),
        Lag(5, 1, 0),
    ]


def test_a_reader_is_behind_for_no_longer_than_since_the_last_event_that_it_applied() -> None:
    driver, clock = Driver(), ManualClock()
    follower = Follower(driver.log, MemoryStore(), clock=clock)
    clock.elapsed_s = (driver.now - clock.now_ms()) / 1000 + QUIET_S
    follower.lag()
    clock.elapsed_s += QUIET_S
    driver.now = clock.now_ms() - 200
    young = driver.open_session()
    driver.open_session()
    follower.fold.feed(driver.records[:young])

    assert follower.lag() == Lag(young, 1, clock.now_ms() - driver.events[young - 1].control.at)


@pytest.mark.parametrize("ahead_s", [QUIET_S, -QUIET_S])
def test_lag_by_another_clock(ahead_s: float) -> None:
    """A leader whose clock differs makes no reader late that is in time, and no late one in time.

    How long nothing was read is known to within the time between two looks.
    """
    driver, clock = Driver(), ManualClock()
    follower = Follower(driver.log, MemoryStore(), clock=clock)
    follower.fold.feed(driver.records)
    clock.elapsed_s = (driver.now - clock.now_ms()) / 1000 - ahead_s
    found: list[int] = []

    def after(seconds: float) -> None:
        clock.elapsed_s += seconds
        driver.now += round(seconds * 1000)
        driver.open_session()
        found.append(follower.lag().behind_ms)

    for _ in range(3):
        follower.fold.feed(driver.records[follower.fold.offset :])
        after(1)
    after(20)
    after(20)

    assert max(found[:3]) <= 1_000
    assert [20_000 <= found[3] <= 21_000, 40_000 <= found[4] <= 41_000] == [True, True]


def test_a_topic_that_was_deleted_and_created_anew_is_not_the_log_the_rows_came_from() -> None:
    driver = Driver()
    store = caught_up(driver, MemoryStore())
    driver.log.recreate(Topic.EVENTS)

    with pytest.raises(EventsLostError) as raised:
        Follower(driver.log, store)

    assert exit_code(raised.value) in FINAL, "whoever starts it again ends in the same way"


def test_nothing_is_made_anew_of_lost_events() -> None:
    driver = Driver()
    driver.log.writer(Topic.COMMANDS).append(b"", b"a command of before")
    driver.log.recreate(Topic.EVENTS)

    with pytest.raises(EventsLostError, match="its commands topic ends at 1"):
        caught_up(driver, MemoryStore())


def test_a_log_that_lost_records_the_rows_were_made_from_is_refused() -> None:
    driver = Driver()
    store = caught_up(driver, MemoryStore())
    driver.log.cut(Topic.EVENTS, 2)

    with pytest.raises(LogDamagedError, match="ends at offset 2"):
        caught_up(driver, store)


def test_a_log_whose_first_records_were_removed_cannot_be_followed_from_the_beginning() -> None:
    driver = Driver()
    driver.log.remove_below(Topic.EVENTS, 1)

    with pytest.raises(OffsetGoneError, match="--rebuild"):
        caught_up(driver, MemoryStore())


def test_damage_ends_the_follower() -> None:
    driver = Driver()
    driver.append(b"what is this")
    store = MemoryStore()

    with pytest.raises(LogDamagedError, match="position 4"):
        caught_up(driver, store)
    assert StoreReads(store).position() == 3


class Process:
    """A follower process: `follow` in a thread, until the block ends."""

    def __init__(self, driver: Driver, root: Path, *, rebuild: bool = False) -> None:
        self.stop = Signal()
        options = {"rebuild": rebuild, "progress": self.note}
        self.thread = Thread(target=follow, args=(driver.log, root, self.stop), kwargs=options)
        self.read = Signal()

    def note(self, _read: int, _end: int) -> None:
        self.read.set()

    def __enter__(self) -> Self:
        self.thread.start()
        self.read.wait(PATIENCE_S)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join(PATIENCE_S)


def test_a_follower_process_writes_what_any_other_process_of_the_host_reads(tmp_path: Path) -> None:
    driver = Driver()
    with Process(driver, tmp_path / "store"):
        reads = open_reads(tmp_path / "store")
        position = driver.open_session()

        assert reads.wait(position, PATIENCE_MS) == position
        reads.close()


def test_a_second_follower_of_one_store_is_refused(tmp_path: Path) -> None:
    driver = Driver()
    with Process(driver, tmp_path / "store"), pytest.raises(StoreLockedError):
        follow(driver.log, tmp_path / "store", Signal())


def test_rows_made_anew_take_the_place_of_spoiled_ones(tmp_path: Path) -> None:
    root, driver = tmp_path / "store", Driver()
    with RocksStore.open(root) as spoiled:
        caught_up(driver, spoiled)
        spoiled.write([(b"g", value({"ledger": "spoiled", "name": "spoiled"}))])
    reads = open_reads(root)
    before = reads.identity().name
    driver.open_session()

    with Process(driver, root, rebuild=True):
        reads.wait(4, PATIENCE_MS)
        after = reads.identity().name
    reads.close()

    with RocksStore.open(root) as rebuilt:
        assert digest(rebuilt) == digest(rows_of(driver))
    assert (before, after) == ("spoiled", "demo")


def test_until_new_rows_have_caught_up_the_old_ones_stay(tmp_path: Path) -> None:
    root, driver = tmp_path / "store", Driver()
    with RocksStore.open(root) as store:
        caught_up(driver, store)
    driver.append(b"what is this")

    with pytest.raises(LogDamagedError):
        follow(driver.log, root, Signal(), rebuild=True)
    reads = open_reads(root)
    assert reads.position() == 3
    reads.close()


def test_rebuild_to_the_end(tmp_path: Path) -> None:
    driver, root = Driver(), tmp_path / "store"
    with RocksStore.rebuild(root, version=FORMAT_VERSION - 1) as store:
        store.publish()
    stopped = Signal()
    stopped.set()

    rebuild(driver.log, root, stopped)
    with pytest.raises(StoreVersionError):
        RocksStore.open(root)
    rebuild(driver.log, root, Signal())

    with RocksStore.open(root) as store:
        assert StoreReads(store).position() == driver.head.position


@pytest.mark.kafka
def test_from_a_real_broker_come_the_same_rows(broker: Broker, ledger_name: str) -> None:
    create_topics(broker.bootstrap, ledger_name)
    driver, store, log = Driver(), MemoryStore(), KafkaLog(broker.bootstrap, ledger_name)
    publish(log, driver.records)
    follow_to_end(log, store)
    driver.open_session()
    publish(log, driver.records[-1:])
    follow_to_end(log, store)
    expected = rows_of(driver, log=log)
    log.close()

    assert StoreReads(store).position() == 4
    assert digest(store) == digest(expected)


def publish(log: KafkaLog, records: Sequence[Record]) -> None:
    writer = log.writer(Topic.EVENTS)
    for record in records:
        writer.append(record.key, record.value)
    writer.flush(PATIENCE_S)
    writer.close()


def follow_to_end(log: Log, store: RowStore) -> RowStore:
    stop = Signal()
    Follower(log, store, caught_up=stop.set).run(stop)
    return store
