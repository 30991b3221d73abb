"""Batches: judged as by the acceptor alone, and never on top of a log that lost its end."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from ledger.core.acceptance import LogHead
from ledger.core.events.events import CatalogCreated, Event
from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Record, Topic
from tests.driver import Driver
from tests.lost_end import REWRITES, Rewrite, by_fence, domain, lose_end


class WatchedLog(MemoryLog):
    """The records of a driver's log; counts the readers it gives, and does not answer if told."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self.topics, self.changed = driver.log.topics, driver.log.changed
        self.readers = 0
        self.is_away = False

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        self.readers += 1
        return super().reader(topic, offset)

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the ends unless the broker is away."""
        if self.is_away:
            raise LogUnavailableError("the broker is away")
        return super().ends(topic, timeout_s)


def reader_of(log: MemoryLog) -> BatchAcceptor:
    batches = BatchAcceptor(log, Acceptor(LogHead()), 0)
    taken(batches, log.topics[Topic.EVENTS].records)
    return batches


def taken(batches: BatchAcceptor, records: Sequence[Record]) -> list[Event]:
    return [event for _, event in batches.events(records) if event is not None]


def troubled() -> Driver:
    """Return a domain with late records, fences and events in turn."""
    driver = domain()
    for _ in range(3):
        driver.zombie(CatalogCreated("late"))
        driver.fence()
        driver.append(driver.records[0].value)
        driver.open_session()
    return driver


@pytest.mark.parametrize("size", [1, 2, 3, 5, 40])
def test_whatever_the_batches_the_same_records_count(size: int) -> None:
    driver = troubled()
    batches = BatchAcceptor(driver.log, Acceptor(LogHead()), 0)
    cuts = pairwise(range(0, len(driver.records) + size, size))
    events = [each for start, end in cuts for each in taken(batches, driver.records[start:end])]

    assert events == driver.events
    assert (batches.acceptor.head, batches.offset) == (driver.head, len(driver.records))


def test_the_control_fields_alone_are_those_of_the_same_records() -> None:
    driver = troubled()
    batches = BatchAcceptor(driver.log, Acceptor(LogHead()), 0)
    controls = [control for _, control in batches.controls(driver.records) if control is not None]

    assert controls == [event.control for event in driver.events]


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda each: each.__name__)
def test_nothing_that_follows_a_lost_end_is_taken(rewrite: Rewrite) -> None:
    driver = domain()
    batches, read = reader_of(driver.log), len(driver.records)
    lose_end(driver, rewrite)

    with pytest.raises(LogDamagedError):
        taken(batches, driver.records[read:])
    assert (batches.acceptor.head, batches.offset) == (driver.head, read)


def test_lost_end_without_another() -> None:
    driver = domain()
    batches = reader_of(driver.log)
    driver.fence()
    fence = driver.records[-1]
    driver.log.cut(Topic.EVENTS, batches.offset - 1)

    with pytest.raises(LogDamagedError, match="no longer in its place"):
        taken(batches, [fence])


@pytest.mark.parametrize(
    ("late", "fences", "events", "looks"),
    [(0, 0, 5, 0), (1, 0, 0, 1), (0, 1, 0, 1), (3, 3, 3, 1)],
    ids=["only events", "a drop", "a fence", "many of all"],
)
def test_events_cost_no_look_back(late: int, fences: int, events: int, looks: int) -> None:
    driver = domain()
    log = WatchedLog(driver)
    batches, read = reader_of(log), len(driver.records)
    for _ in range(events):
        driver.open_session()
    for _ in range(late):
        driver.zombie(CatalogCreated("late"))
    for _ in range(fences):
        driver.fence()
    taken(batches, driver.records[read:])

    assert log.readers == looks


def test_nothing_is_looked_for_before_the_first_record() -> None:
    driver = Driver()
    log = WatchedLog(driver)
    reader_of(log)

    assert log.readers == 0


@pytest.mark.parametrize(
    "append",
    [Driver.fence, lambda driver: driver.zombie(CatalogCreated("late"))],
    ids=["a fence", "a drop"],
)
def test_nothing_is_taken_while_the_log_is_away(append: Callable[[Driver], object]) -> None:
    driver = domain()
    log = WatchedLog(driver)
    batches, read = reader_of(log), len(driver.records)
    append(driver)
    driver.open_session()
    log.is_away = True

    with pytest.raises(LogUnavailableError):
        taken(batches, driver.records[read:])
    assert batches.offset == read
    log.is_away = False
    taken(batches, driver.records[read:])
    assert batches.acceptor.head == driver.head


def test_what_is_opened_reads_on_behind_the_last_record_that_counted() -> None:
    driver = domain()
    driver.zombie(CatalogCreated("late"))
    batches = reader_of(driver.log)
    driver.open_session()

    assert [record.offset for record in batches.open().read(10, 0.0)] == [5, 6]


def test_who_has_read_nothing_begins_with_the_first_event_or_not_at_all() -> None:
    driver = domain()
    batches = reader_of(driver.log)
    driver.log.remove_below(Topic.EVENTS, 2)

    with pytest.raises(LogDamagedError, match="at offset 2, history is gone"):
        BatchAcceptor(driver.log, Acceptor(LogHead()), 0).open()
    assert batches.open().read(10, 0.0) == []


def test_open_after_a_lost_end() -> None:
    driver = domain()
    batches = reader_of(driver.log)
    lose_end(driver, by_fence)

    with pytest.raises(LogDamagedError, match="no longer in its place"):
        batches.open()
