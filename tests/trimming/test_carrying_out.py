"""Carrying out a trim on a log that is replaced by a copy meanwhile."""

from collections.abc import Iterator

import pytest

from ledger.client import Ledger
from ledger.errors import TrimRefusedError
from ledger.log.memory import MemoryLog, MemoryWriter
from ledger.log.port import Topic
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
