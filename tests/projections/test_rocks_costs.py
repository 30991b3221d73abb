"""What a lookup in a large store costs, in bytes read: time says little on a busy machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from projections.rows.packing import pack
from projections.store.port import RowChange
from projections.store.rocks import RocksLimits
from projections.store.rocks_store import RocksStore

ROWS: Final = 600_000
BATCHES: Final = 30
LOOKUPS: Final = 200
# A block of rows and one each of the index and of the filter have some KB; the filter of all rows
# in one piece has 750.
BYTES_MAX: Final = 64 << 10
LIMITS: Final = RocksLimits(block_cache_bytes=512 << 10, write_buffer_bytes=1 << 20)


def key_of(number: int) -> bytes:
    return pack(b"t", number)


def batches() -> Iterator[list[RowChange]]:
    """Yield the rows so that each batch lies across all others, and one large table comes of it."""
    for first in range(BATCHES):
        yield [(key_of(2 * number), b"") for number in range(first, ROWS, BATCHES)]


def bytes_read() -> int:
    """Return how many bytes this process has read so far, from files or from their cache."""
    return int(psutil.Process().io_counters().read_chars)


def test_a_lookup_does_not_read_the_filter_of_a_whole_table(tmp_path: Path) -> None:
    with RocksStore.open(tmp_path, limits=LIMITS) as store:
        for batch in batches():
            store.write(batch)
    with RocksStore.open(tmp_path, limits=LIMITS) as store:
        before = bytes_read()
        for number in range(0, 2 * ROWS, 2 * ROWS // LOOKUPS):
            assert store.get(key_of(number)) == b""
            assert store.get(key_of(number + 1)) is None
        read = bytes_read() - before
    assert read / (2 * LOOKUPS) < BYTES_MAX
