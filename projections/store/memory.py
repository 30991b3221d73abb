"""The row store in memory: the same contract, no files, one process.

It serves tests, simulation, and the rows of metadata that another host publishes.

Keys are kept in a sorted list, so a new key costs O(rows): fine for a hundred thousand rows.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from threading import Lock

from projections.errors import StoreClosedError
from projections.store.port import (
    FORMAT_VERSION,
    Row,
    RowChange,
    RowReader,
    RowStore,
    check_keys,
    format_stamp,
)


class _SortedRows(RowReader):
    """Rows in a dict, their keys in order beside it."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self._keys: list[bytes] = []
        self._closed = False

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        return self._values.get(key)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return the rows of [start, end), copied at the call, at most `limit`."""
        self._check_open()
        low, high = bisect_left(self._keys, start), bisect_left(self._keys, end)
        if limit is not None:
            low, high = (max(low, high - limit), high) if reverse else (low, min(high, low + limit))
        keys = self._keys[low:high]
        if reverse:
            keys.reverse()
        return iter([(key, self._values[key]) for key in keys])

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError("the row store in memory")


class MemoryStore(_SortedRows, RowStore):
    """A row store that lives as long as the object; its readers may be in other threads."""

    def __init__(self, *, version: int = FORMAT_VERSION) -> None:
        super().__init__()
        self._writing = Lock()
        self.write([format_stamp(version)])

    def write(self, changes: Sequence[RowChange]) -> None:
        self._check_open()
        check_keys(changes)
        with self._writing:
            for key, value in changes:
                if value is None:
                    self._delete(key)
                else:
                    self._put(key, value)

    def refresh(self) -> None:
        self._check_open()

    def reader(self) -> "MemoryRowReader":
        """Return a reader that sees the present rows until a refresh, like another process."""
        self._check_open()
        return MemoryRowReader(self)

    def copied(self) -> tuple[dict[bytes, bytes], list[bytes]]:
        """Return the rows of whole batches and their keys in order, for a reader to keep."""
        with self._writing:
            return dict(self._values), list(self._keys)

    def _put(self, key: bytes, value: bytes) -> None:
        if key not in self._values:
            insort(self._keys, key)
        self._values[key] = value

    def _delete(self, key: bytes) -> None:
        if self._values.pop(key, None) is not None:
            del self._keys[bisect_left(self._keys, key)]


class MemoryRowReader(_SortedRows):
    """The rows of a MemoryStore as they were at the last refresh."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        self._store = store
        self.refresh()

    def refresh(self) -> None:
        """Copy the present rows of the store."""
        self._check_open()
        self._values, self._keys = self._store.copied()
