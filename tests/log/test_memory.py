"""The log in memory keeps the contract, and loses what a test tells it to lose."""

import pytest

from ledger.errors import LogUnavailableError, OffsetGoneError
from ledger.log.lossy import LossyLog
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from tests.log.contract import Bench, LogContract, values


@pytest.fixture
def memory() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def bench(memory: MemoryLog) -> Bench:
    return Bench(memory, memory.remove_below, memory.recreate)


class TestMemoryLog(LogContract):
    """The contract, over a log in memory."""


def test_cut(bench: Bench, memory: MemoryLog) -> None:
    """After an end was lost, who read it is told, and the next record takes its offset."""
    bench.write(Topic.EVENTS, b"0", b"1", b"2")
    memory.cut(Topic.EVENTS, 1)
    with bench.reading(Topic.EVENTS, 3) as reader, pytest.raises(OffsetGoneError):
        reader.read(1, 0.0)
    bench.write(Topic.EVENTS, b"other")
    assert values(bench.read(Topic.EVENTS, 2)) == [b"0", b"other"]


@pytest.mark.parametrize(
    ("with_tombstones", "left"),
    [(False, [(1, b""), (3, b"3"), (5, b"5")]), (True, [(3, b"3"), (5, b"5")])],
)
def test_of_what_is_chosen_goes_what_comes_again(
    memory: MemoryLog,
    with_tombstones: bool,  # noqa: FBT001
    left: list[tuple[int, bytes]],
) -> None:
    writer = memory.writer(Topic.CACHE)
    for key, value in [(b"a", b"0"), (b"b", b""), (b"a", b"2"), (b"a", b"3"), (b"c", b"4")]:
        writer.append(key, value)
    writer.append(b"c", b"5")
    memory.compact(Topic.CACHE, range(5), with_tombstones=with_tombstones)
    reader = memory.reader(Topic.CACHE, 0)
    found = [(record.offset, record.value) for record in reader.read(10, 0.0)]
    assert (found, reader.next_offset()) == (left, 6)
    assert memory.ends(Topic.CACHE) == (0, 6)


def test_compaction_is_chosen(memory: MemoryLog) -> None:
    """What is not chosen stays, as in the part of a topic that was not compacted yet."""
    writer = memory.writer(Topic.CACHE)
    for value in (b"0", b"1", b"2", b"3"):
        writer.append(b"key", value)
    memory.compact(Topic.CACHE, [1, 3])
    records = memory.reader(Topic.CACHE, 1).read(10, 0.0)
    assert [record.offset for record in records] == [2, 3]


@pytest.mark.parametrize("fault", ["refused", "unacknowledged"])
def test_record_that_fails(fault: str) -> None:
    """Who waits for a record that is not acknowledged is told, as who asks for those before it."""
    log = LossyLog()
    getattr(log, fault)[Topic.EVENTS] = 1
    writer = log.writer(Topic.EVENTS)
    writer.append(b"key", b"0")
    with pytest.raises(LogUnavailableError, match="was not acknowledged"):
        writer.flush(1.0)
    with pytest.raises(LogUnavailableError, match="was not acknowledged"):
        writer.check()
