"""The row store in memory keeps the contract, with many rows and beside a thread that writes."""

from collections.abc import Iterator
from threading import Event, Thread
from time import process_time

import pytest

from projections.store.memory import MemoryRowReader, MemoryStore
from projections.store.port import FORMAT_KEY
from tests.projections.contract import StoreContract

SLOWER_MAX = 4.0
"""So much more may a row cost among ten times as many: a list moved for each row costs tenfold."""


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore() as store:
        yield store


@pytest.fixture
def reader(store: MemoryStore) -> Iterator[MemoryRowReader]:
    """Return a reader that lags behind the store until it is refreshed."""
    with store.reader() as reader:
        yield reader


class TestMemoryStore(StoreContract):
    """The contract, in memory."""


def test_a_store_in_memory_is_stamped_with_the_version_it_is_made_for() -> None:
    assert MemoryStore(version=7).get(FORMAT_KEY) == b"7"


def key(number: int) -> bytes:
    """Return keys that go to all places among those before them."""
    return b"k" + (number * 2_654_435_761 % 2**32).to_bytes(4, "big")


def cost(store: MemoryStore, start: int, count: int) -> float:
    """Return the time that new rows and their removal take, for each of them."""
    began = process_time()
    for at in range(start, start + count, 10):
        store.write([(key(number), b"row") for number in range(at, at + 10)])
        store.write([(key(at), None)])
    return (process_time() - began) / count


def test_a_row_costs_the_same_among_many() -> None:
    store = MemoryStore()
    among_few = cost(store, 0, 50_000)
    cost(store, 50_000, 450_000)
    assert cost(store, 500_000, 50_000) < SLOWER_MAX * among_few


def test_a_scan_finds_each_row_that_was_there_all_the_time_once_and_in_order() -> None:
    store, stop = MemoryStore(), Event()
    stays = [b"s%06d" % number for number in range(0, 20_000, 2)]
    store.write([(stay, b"") for stay in stays])

    def write() -> None:
        while not stop.is_set():
            for number in range(1, 20_000, 2):
                store.write([(b"s%06d" % number, b"")])
            for number in range(1, 20_000, 2):
                store.write([(b"s%06d" % number, None)])

    writer = Thread(target=write)
    writer.start()
    try:
        for turn in range(200):
            found = [each for each, _ in store.scan(b"s", b"t", reverse=turn % 2 == 1)]
            assert found == sorted(set(found), reverse=turn % 2 == 1)
            assert set(stays) <= set(found)
    finally:
        stop.set()
        writer.join()
