"""A domain whose rows are read from memory, and one whose rows another process would read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from projections.memory import MemoryStore
from projections.rocks_reader import RocksReader
from projections.rocks_store import RocksStore
from tests.projections.followed import Followed


@pytest.fixture
def in_memory() -> Iterator[Followed]:
    """Return a domain followed in this process, and a reader that must be refreshed."""
    with MemoryStore() as store, store.reader() as reader:
        yield Followed(store, reader)


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[Followed]:
    """Return a domain whose store is read as another process reads it."""
    root = tmp_path / "store"
    with RocksStore.open(root) as store, RocksReader.open(root) as reader:
        yield Followed(store, reader)


@pytest.fixture(params=["in_memory", "on_disk"])
def domain(request: pytest.FixtureRequest) -> Followed:
    """Return a new domain, once for each adapter."""
    followed: Followed = request.getfixturevalue(request.param)
    return followed
