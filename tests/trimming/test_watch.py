"""The watch of a log: what it saw stays when the broker is away, and its looks are few."""

from threading import Event as Signal

import pytest

from ledger.clock import Clock
from ledger.errors import AccessDeniedError, LedgerError, LogUnavailableError
from ledger.log.consumers import Consumer, register
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Topic
from ledger.log.trim_notes import TrimNote, write_trim_note
from ledger.machine.room import NO_PLACES
from ledger.trimming.look import Whereabouts
from ledger.trimming.watch import EVERY_S, NOT_YET, LogSeen, LogWatch, RowsReached
from tests.conformance.case_ledger import ManualClock
from tests.driver import Driver

PATIENCE_S = 20.0
WHERE = Whereabouts("lake", NO_PLACES)


class Watched:
    """A log with events, and a watch of it by a process whose rows lack the newest two."""

    def __init__(self) -> None:
        self.driver, self.clock = Driver(), ManualClock()
        session = self.driver.open_session()
        for n in range(3):
            self.driver.create_table(session, f"flights{n}")
        self.log: MemoryLog = self.driver.log
        self.head = self.driver.head
        self.loaded = True
        self.problem: LedgerError | None = None
        self.opened: list[float] = []
        self.watch = LogWatch(self.open, WHERE, self.reached, self.clock)

    def open(self) -> MemoryLog:
        self.opened.append(self.clock.elapsed_s)
        if self.problem is not None:
            raise self.problem
        return self.log

    def reached(self) -> RowsReached | None:
        end = self.log.ends(Topic.EVENTS)[1]
        return RowsReached(self.head.position - 2, end - 2) if self.loaded else None

    def look_later(self) -> LogSeen:
        self.clock.elapsed_s += EVERY_S
        self.watch.look_if_due()
        return self.watch.seen()


def test_a_look_shows_where_the_log_begins_and_ends_and_what_follows_it() -> None:
    watched = Watched()
    now_ms, last = watched.clock.now_ms(), watched.head.position
    register(watched.log, 0, Consumer("publisher", "one", "there", 3, now_ms - 7_000))
    write_trim_note(watched.log, TrimNote(now_ms - 1_000, 30.0))
    look = watched.look_later().look
    assert look is not None
    assert (look.first, look.last, look.trim, look.image) == (1, last, None, None)
    assert look.consumers is not None
    (seen,) = look.consumers
    assert (seen.name, seen.position, seen.behind) == ("one", 3, last - 3)
    assert seen.age_s == 7 + EVERY_S
    assert look.slowest == seen
    assert look.policy is not None
    assert look.policy.keep_days == 30.0
    assert look.a_day is not None
    assert look.a_day.events > 0


def test_a_broker_that_is_away_leaves_the_last_look_with_its_age() -> None:
    watched = Watched()
    first = watched.look_later()
    watched.problem = LogUnavailableError("away")
    stale = watched.look_later()
    assert stale == LogSeen(first.look, round(EVERY_S), "away")
    assert watched.look_later().age_s == 2 * EVERY_S
    watched.problem = None
    fresh = watched.look_later()
    assert (fresh.age_s, fresh.problem) == (0, "")
    assert fresh.look != first.look


def test_looks_are_few_and_wait_for_the_rows() -> None:
    watched = Watched()
    watched.loaded = False
    assert watched.look_later() == LogSeen(problem=NOT_YET)
    assert not watched.opened
    watched.loaded = True
    for _ in range(3):
        watched.watch.look_if_due()
    assert len(watched.opened) == 1
    watched.problem = LogUnavailableError("away")
    watched.look_later()
    watched.watch.look_if_due()
    assert len(watched.opened) == 2


class ForbiddenLog(MemoryLog):
    """A log whose broker lets this user read only some topics."""

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        if topic in {Topic.CONSUMERS, Topic.CHECKPOINTS}:
            raise AccessDeniedError("denied", topic=topic, right="READ")
        return super().reader(topic, offset)


def test_a_look_needs_no_right_to_read_checkpoints_and_goes_on_without_consumers() -> None:
    log = ForbiddenLog()
    register(log, 0, Consumer("publisher", "one", "there", 3, 1))
    for record in Driver().records:
        log.writer(Topic.EVENTS).append(record.key, record.value)
    end = log.ends(Topic.EVENTS)[1]
    clock: Clock = ManualClock()
    watch = LogWatch(lambda: log, WHERE, lambda: RowsReached(end, end), clock)
    watch.look_if_due()
    look = watch.seen().look
    assert look is not None, watch.seen().problem
    assert (look.last, look.consumers) == (end, None)


@pytest.mark.integration
def test_the_watch_looks_at_once_in_a_thread_that_ends_with_its_block() -> None:
    watched, opened = Watched(), Signal()

    def connect() -> MemoryLog:
        opened.set()
        return watched.log

    watch = LogWatch(connect, WHERE, watched.reached, watched.clock)
    with watch.running():
        assert opened.wait(PATIENCE_S)
    assert watch.seen().look is not None
