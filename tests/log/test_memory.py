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


def test_who_read_a_lost_end_is_told(bench: Bench, memory: MemoryLog) -> None:
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


def test_what_is_not_chosen_stays_through_a_compaction(memory: MemoryLog) -> None:
    writer = memory.writer(Topic.CACHE)
    for value in (b"0", b"1", b"2", b"3"):
        writer.append(b"key", value)
    memory.compact(Topic.CACHE, [1, 3])
    records = memory.reader(Topic.CACHE, 1).read(10, 0.0)
    assert [record.offset for record in records] == [2, 3]


@pytest.mark.parametrize("fault", ["refused", "unacknowledged"])
def test_who_waits_for_a_record_that_is_not_acknowledged_is_told(fault: str) -> None:
    log = LossyLog()
    getattr(log, fault)[Topic.EVENTS] = 1
    writer = log.writer(Topic.EVENTS)
    writer.append(b"key", b"0")
    with pytest.raises(LogUnavailableError, match="was not acknowledged"):
        writer.flush(1.0)
    with pytest.raises(LogUnavailableError, match="was not acknowledged"):
        writer.check()
