"""Carrying out a trim while another process pins events, registers, or restores a copy."""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.errors import SettingsError, TrimRefusedError
from ledger.log.consumers import PIN, REMOVES_S, Consumer, pin, register, registered
from ledger.log.memory import MemoryLog, MemoryTopic, MemoryWriter
from ledger.log.port import Topic
from ledger.log.trimmed import LATELY_MS, start_of, write_trim_mark
from ledger.testing import InMemoryLedger
from ledger.trimming.survey import TrimPlan
from ledger.trimming.trimming import carry_out
from tests.log.test_trimmed import log_of, mark_at

BELOW = 6


class CopiedLog(MemoryLog):
    """A log in whose place an operator restores a copy while a mark is written."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__()
        self.topics = log.topics

    def writer(self, topic: Topic) -> MemoryWriter:
        """Return a writer; the events are in a new topic from here on."""
        records = list(self.topics[Topic.EVENTS].records)
        self.recreate(Topic.EVENTS)
        self.topics[Topic.EVENTS].records.extend(records)
        return super().writer(topic)


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    """Return a ledger with some events."""
    with InMemoryLedger() as memory, memory.connect() as ledger:
        for number in range(5):
            ledger.create_table(f"t{number}", [("id", "bigint")])
        yield memory


@pytest.fixture
def ledger(memory: InMemoryLedger) -> Iterator[Ledger]:
    with memory.connect() as ledger:
        yield ledger


def test_records_leave_behind_their_mark(memory: InMemoryLedger, ledger: Ledger) -> None:
    log, removed = log_of(memory), list[int]()
    plan = TrimPlan(mark_at(log, BELOW), b"digest", 1)
    mark = carry_out(ledger, log, plan, removed.append, "room")
    assert removed == [mark.offset]


def test_a_copy_that_was_restored_meanwhile_stays_whole(
    memory: InMemoryLedger, ledger: Ledger
) -> None:
    log, removed = log_of(memory), list[int]()
    plan = TrimPlan(mark_at(log, BELOW), b"digest", 1)
    with pytest.raises(TrimRefusedError, match="a copy was restored"):
        carry_out(ledger, CopiedLog(log), plan, removed.append, "room")
    assert removed == []


class WatchedLog(MemoryLog):
    """A log in which another process acts behind a record of a topic."""

    def __init__(self, log: MemoryLog, topic: Topic, act: Callable[[], None]) -> None:
        super().__init__()
        self.topics = log.topics
        self._wanted, self._act = topic, act

    def writer(self, topic: Topic) -> MemoryWriter:
        """Return a writer; after its first record the other process acts."""
        act = self._act if topic is self._wanted else lambda: None
        return ActingWriter(self, self.topics[topic], act)


class ActingWriter(MemoryWriter):
    """A writer behind whose records another process acts."""

    def __init__(self, log: MemoryLog, topic: MemoryTopic, act: Callable[[], None]) -> None:
        super().__init__(log, topic)
        self._then = act

    def flush(self, timeout_s: float) -> None:
        """Let the other process act."""
        super().flush(timeout_s)
        self._then()


SLOW: Final = Consumer("follower", "slow", "host", BELOW - 1, 1)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (SLOW, "would begin anew at position 5"),
        (SLOW._replace(role=PIN), "the pin slow keeps the events from position 5"),
        (SLOW._replace(version=2), "cannot be read by this version"),
    ],
)
def test_a_consumer_that_came_behind_the_plan_keeps_its_events(
    memory: InMemoryLedger, ledger: Ledger, said: Consumer, why: str
) -> None:
    log, removed = log_of(memory), list[int]()
    plan = TrimPlan(mark_at(log, BELOW), b"digest", 1)
    marking = WatchedLog(log, Topic.CATALOGS, lambda: register(log, 0, said))
    with pytest.raises(TrimRefusedError, match=why):
        carry_out(ledger, marking, plan, removed.append, "room")
    assert removed == []
    assert start_of(log).offset == 0


class TrimmedSoon(MemoryLog):
    """A log whose records a trim removes while another process looks for marks the nth time."""

    def __init__(self, log: MemoryLog, offset: int, nth: int) -> None:
        super().__init__()
        self.topics, self._offset, self._left = log.topics, offset, nth

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the ends before the removal."""
        found = super().ends(topic, timeout_s)
        if topic is Topic.CATALOGS and self.topics[Topic.CONSUMERS].records:
            self._left -= 1
            if not self._left:
                self.remove_below(Topic.EVENTS, self._offset)
        return found


@pytest.mark.parametrize("former", [[], [Consumer(PIN, "audit", "host", BELOW, 1)]])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_pin_fails_if_a_trim_that_found_no_pin_removes_its_events(
    memory: InMemoryLedger, former: list[Consumer], nth: int
) -> None:
    log = log_of(memory)
    for each in former:
        register(log, 0, each)
    mark = mark_at(log, BELOW)
    write_trim_mark(log, 0, mark)
    soon = TrimmedSoon(log, mark.offset, nth)
    with pytest.raises(SettingsError, match=f"must be at position {BELOW} or later"):
        pin(soon, "audit", BELOW - 1, log.now_ms())
    assert registered(log) == former


def test_a_pin_waits_for_no_trim_that_was_interrupted_or_takes_other_events(
    memory: InMemoryLedger,
) -> None:
    log, began_s = log_of(memory), monotonic()
    write_trim_mark(log, 0, mark_at(log, BELOW))
    pin(log, "audit", BELOW - 1, log.now_ms() + LATELY_MS)
    pin(log, "later", BELOW, log.now_ms())
    assert monotonic() - began_s < REMOVES_S / 2
    assert {each.name for each in registered(log) or ()} == {"audit", "later"}
