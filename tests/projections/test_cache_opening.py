"""What becomes of a cache that cannot be opened whole."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.errors import LogUnavailableError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from projections.cache.reads import MetadataCache
from projections.errors import StoreMissingError
from projections.store.rocks_store import RocksStore
from tests.driver import CATALOG


class Unreadable(MemoryLog):
    """A log whose broker is away."""

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Raise that nobody answers."""
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
