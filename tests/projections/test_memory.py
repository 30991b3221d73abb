"""The row store in memory keeps the contract."""

from collections.abc import Iterator

import pytest

from projections.store.memory import MemoryRowReader, MemoryStore
from projections.store.port import FORMAT_KEY
from tests.projections.contract import StoreContract


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    """Return an empty store."""
    with MemoryStore() as store:
        yield store


@pytest.fixture
def reader(store: MemoryStore) -> Iterator[MemoryRowReader]:
    """Return a reader that lags behind the store until it is refreshed."""
    with store.reader() as reader:
        yield reader


class TestMemoryStore(StoreContract):
    """The contract, in memory."""


def test_format_stamp() -> None:
    """A store in memory is stamped with the version it is made for."""
    assert MemoryStore(version=7).get(FORMAT_KEY) == b"7"
