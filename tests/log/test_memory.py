"""The log in memory keeps the contract, and loses what a test tells it to lose."""

import pytest

from ledger.errors import OffsetGoneError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from tests.log.contract import Bench, LogContract, values


@pytest.fixture
def memory() -> MemoryLog:
    """Return an empty log."""
    return MemoryLog()


@pytest.fixture
def bench(memory: MemoryLog) -> Bench:
    """Return the bench of the contract."""
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
