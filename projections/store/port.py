"""The row store port: one ordered key space of bytes, written in atomic batches.

Projections write rows here and queries read them. Adapters are `projections.store.memory` (for
tests) and `projections.store.rocks_store` (on disk); `tests/projections/contract.py` is what both
must do. There are no column families: prefixes separate projections, and one batch, one scan, one
reader covers them all.

A key is never empty and its first byte is below 0xff: so every prefix has an end, and the whole
store is `scan(b"", KEYS_END)`. Rows are a function of the log; nothing is stored here alone.
"""

from collections.abc import Hashable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, Self

from projections.errors import StoreDamagedError, StoreVersionError
from projections.rows.keys import CHECKPOINT

Row = tuple[bytes, bytes]
"""Key and value, as read."""

RowChange = tuple[bytes, bytes | None]
"""Key and its new value; None deletes the row, whether or not it exists."""

KEYS_END = b"\xff"
"""The end of the key space: above every key."""

FORMAT_KEY = b"!format"
"""The row that names the layout of all the others; the store writes it, projections leave it."""

FORMAT_VERSION = 10
"""Raised whenever any projection lays out its rows differently: stores are then rebuilt."""

# Most who read from the highest row down want that one alone.
SLICE_MIN = 4
SLICE_GROWTH = 4


class RowReader(Protocol):
    """Read access to rows. After `close`, every call raises StoreClosedError."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, None if there is no such row."""
        ...

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return the rows of [start, end) in key order, or from the highest down if `reverse`.

        At most `limit` rows. A scan shows one state, that of the call: later writes and refreshes
        do not reach it. It may be long: rows are fetched as it goes. Rows deleted lately cost time
        to pass over, so start behind those known to be gone.
        """
        ...

    def refresh(self) -> None:
        """Catch up with the process that writes; a store that is written here is always current.

        Afterwards the rows are those of a whole number of batches, at least all that were written
        before the call. A refresh that raises has closed the reader: open another one.
        """
        ...

    def origin(self) -> Hashable:
        """Return what is another value once the rows may be those of another history.

        That is after a refresh that went over to a store made anew: nothing that was made of the
        rows before goes on with these.
        """
        return None

    def close(self) -> None:
        """Release files and memory; closing again does nothing.

        A scan that is still read afterwards goes on to its end or raises StoreClosedError.
        """
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        raise ValueError(f"no key starts with {prefix!r}: the first byte of a key is below 0xff")
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else KEYS_END


def highest_first(rows: RowReader, start: bytes, end: bytes) -> Iterator[Row]:
    """Yield the rows of [start, end) from the highest down, for who may need no more than a few.

    A scan without a limit reads whole pages, and one in memory copies all there is. This one reads
    slices that grow with what was taken, so it never reads more than a few times that.
    """
    limit = SLICE_MIN
    while limit:
        left = limit
        for row in rows.scan(start, end, limit=limit, reverse=True):
            yield row
            end, left = row[0], left - 1
        limit = 0 if left else SLICE_GROWTH * limit


def digest(rows: RowReader) -> bytes:
    """Return 32 bytes that are equal for equal rows, in any adapter. Reads every row.

    Left out is the checkpoint: which state it holds is a matter of time, not of the log alone.
    """
    total = blake2b(digest_size=32)
    for key, value in rows.scan(b"", KEYS_END):
        if key == CHECKPOINT:
            continue
        total.update(b"%d %d " % (len(key), len(value)))
        total.update(key)
        total.update(value)
    return total.digest()


def format_stamp(version: int) -> RowChange:
    """Return the row that marks a store as laid out by `version`."""
    return FORMAT_KEY, b"%d" % version


def check_format(stamp: bytes | None, wanted: int, path: Path) -> None:
    """Compare the row at FORMAT_KEY of the store at `path` with the format this program knows.

    Raises:
        StoreVersionError: it names another version than `wanted`.
        StoreDamagedError: there is none, and every store begins with one.
    """
    if stamp is None:
        raise StoreDamagedError(path, f"its first row, {FORMAT_KEY!r}, is missing")
    if int(stamp) != wanted:
        raise StoreVersionError(int(stamp), wanted)


def check_keys(changes: Sequence[RowChange]) -> None:
    """Raise ValueError if a key lies outside the key space; adapters ask before they write."""
    for key, _ in changes:
        if not b"" < key < KEYS_END:
            raise ValueError(f"the key {key!r} is empty or starts with 0xff; nothing was written")
