"""A domain whose rows are read from memory or from disk, and one with a cache over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from projections.store.memory import MemoryStore
from projections.store.rocks_reader import RocksReader
from projections.store.rocks_store import RocksStore
from tests.conformance.case_ledger import ManualClock
from tests.projections.cached import Cached, entries_of
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


@pytest.fixture(params=["rows in memory", "rows on disk", "log", "topic"])
def cached(request: pytest.FixtureRequest) -> Iterator[Cached]:
    """Return a domain with a cache, once for each kind of entries."""
    kind = request.param
    domain: Followed = request.getfixturevalue("on_disk" if kind == "rows on disk" else "in_memory")
    found = Cached(domain, entries_of(kind, domain), ManualClock())
    yield found
    found.cache.close()
