"""What becomes of a cache that is opened, and of one that cannot be opened whole."""

import gc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.errors import LogUnavailableError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.reads.metadata import TableMetadata
from projections.cache.reads import MetadataCache
from projections.errors import StoreMissingError
from projections.store.rocks_store import RocksStore
from tests.driver import CATALOG
from tests.projections.followed import Followed


class Unreadable(MemoryLog):
    """A log whose broker is away."""

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        raise LogUnavailableError(f"{topic} did not answer within {timeout_s} s")


@pytest.mark.parametrize(
    "open_cache",
    [
        lambda rows: MetadataCache.open(rows, CATALOG, store=rows / "nowhere"),
        lambda rows: MetadataCache.following(Unreadable(), rows, CATALOG),
    ],
)
def test_nothing_is_left_open(tmp_path: Path, open_cache: Callable[[Path], object]) -> None:
    """A cache that cannot be opened whole closes what of it was: else its reader would warn."""
    with RocksStore.open(tmp_path):
        pass
    with pytest.raises((StoreMissingError, LogUnavailableError)):
        open_cache(tmp_path)
    gc.collect()


def test_a_cache_over_log_and_store(on_disk: Followed, tmp_path: Path) -> None:
    """It holds what the log brings, in so many bytes, and asks the store for what is missing."""
    session = on_disk.open_session()
    table = on_disk.create_table(session, "t")
    on_disk.follow()
    cache = MetadataCache.following(on_disk.log, tmp_path / "store", CATALOG, bytes_max=1 << 20)
    with closing(cache):
        found = cache.read("t", ValidWriteIdList("t", 0, (), (), None))
        none = cache.read("none", None)

        assert cache.entries.tables.bytes_max == 1 << 20
    assert (found.source, none.source, none.value) == ("cache", "store", None)
    assert isinstance(found.value, TableMetadata)
    assert found.value.table == table
