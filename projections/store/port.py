"""The row store port: one ordered key space of bytes, written in atomic batches.

Projections write rows here and queries read them. Adapters are `projections.store.memory` (for
tests) and `projections.store.rocks_store` (on disk); `tests/projections/contract.py` is the
contract of both. There are no column families: prefixes separate projections, and one batch, one
scan, one reader covers them all.

A key is never empty and its first byte is below 0xff: so every prefix has an end, and the whole
store is `scan(b"", KEYS_END)`. Rows are a function of the log; no fact is stored here only.
"""

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, Self

from projections.errors import StoreDamagedError, StoreVersionError

Row = tuple[bytes, bytes]
"""Key and value, as read."""

RowChange = tuple[bytes, bytes | None]
"""Key and its new value; None deletes the row, whether or not it exists."""

KEYS_END = b"\xff"
"""The end of the key space: above every key."""

FORMAT_KEY = b"!format"
"""The row that names the format of all others; the store writes it, projections do not."""

FORMAT_VERSION = 15
"""Increased whenever a projection changes the format of its rows: stores are then rebuilt."""

# Most scans from the highest row down need only that row.
SLICE_MIN = 4
SLICE_GROWTH = 4


class Rows(Protocol):
    """Rows by key and in order."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, None if there is no such row."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Return the values of several keys, in their order; keys in order are found sooner."""
        return [self.get(key) for key in keys]

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return the rows of [start, end) in key order, or from the highest down if `reverse`.

        At most `limit` rows. A scan shows the state at the call: later writes and refreshes do not
        change it. Rows are fetched in pages. Passing over rows deleted lately costs time, so start
        behind rows known to be gone.
        """
        ...


class RowReader(Rows, Protocol):
    """Read access to rows. After `close`, every call raises StoreClosedError."""

    def refresh(self) -> None:
        """Catch up with the process that writes; a store that is written here is always current.

        Afterwards the rows are those of whole batches, with at least all batches written before the
        call. A refresh that raises has closed the reader: open another one.
        """
        ...

    def origin(self) -> Hashable:
        """Return a value that changes once the rows may belong to another history.

        It changes after a refresh that moved to a rebuilt store: results of the earlier rows must
        not be continued with the new ones.
        """
        return None

    def close(self) -> None:
        """Release files and memory; closing again does nothing.

        A scan that is still read afterwards continues to its end or raises StoreClosedError.
        """
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RowsBeneath(RowReader):
    """Rows that lie in another store, which `_store` is."""

    _store: Rows

    def get(self, key: bytes) -> bytes | None:
        return self._store.get(key)

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        return self._store.get_many(keys)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        return self._store.scan(start, end, limit=limit, reverse=reverse)


class RowStore(RowReader, Protocol):
    """Rows and the one right to write them."""

    def write(self, changes: Sequence[RowChange]) -> None:
        """Apply all changes or none; of several changes of one key the last one wins.

        Killing the process afterwards loses nothing. A power cut may lose the latest batches, each
        as a whole; the log brings them back.

        Raises:
            ValueError: a key is empty or starts with 0xff; nothing is changed.
        """
        ...


def prefix_end(prefix: bytes) -> bytes:
    """Return the end of the keys that start with `prefix`, for a scan that begins at `prefix`."""
    if prefix[:1] == KEYS_END:
        raise ValueError(f"the first byte of a prefix must be below 0xff, got {prefix!r}")
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else KEYS_END


def highest_first(rows: RowReader, start: bytes, end: bytes) -> Iterator[Row]:
    """Yield the rows of [start, end) from the highest down, for callers that may need only a few.

    A scan without a limit reads whole pages, and in memory copies all rows. This one reads slices
    that grow with the rows taken, so it reads at most a few times as many rows as are taken.
    """
    limit = SLICE_MIN
    while limit:
        left = limit
        for row in rows.scan(start, end, limit=limit, reverse=True):
            yield row
            end, left = row[0], left - 1
        limit = 0 if left else SLICE_GROWTH * limit


def format_stamp(version: int) -> RowChange:
    """Return the row that marks a store as of format `version`."""
    return FORMAT_KEY, b"%d" % version


def check_format(stamp: bytes | None, wanted: int, path: Path) -> None:
    """Compare the row at FORMAT_KEY of the store at `path` with the format this program knows.

    Raises:
        StoreVersionError: the row names another version than `wanted`.
        StoreDamagedError: the row is missing; every store begins with it.
    """
    if stamp is None:
        raise StoreDamagedError(path, f"its first row, {FORMAT_KEY!r}, is missing")
    if int(stamp) != wanted:
        raise StoreVersionError(int(stamp), wanted)


def check_keys(changes: Sequence[RowChange]) -> None:
    """Raise ValueError for a key outside the key space; adapters check before they write."""
    for key, _ in changes:
        if not b"" < key < KEYS_END:
            raise ValueError(
                f"a key must have a first byte below 0xff, got {key!r}; nothing was written"
            )
