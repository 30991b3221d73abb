"""The row store in memory: the same contract, no files, one process.

It serves tests, simulation, and the rows of metadata that another host publishes.

A sorted list in parts has the keys: a new one costs the same among millions of others.
"""

from collections.abc import Iterator, Sequence
from threading import Lock

from sortedcontainers import SortedList

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
        self._keys: SortedList = SortedList()
        self._closed = False
        self._changing = Lock()

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        return self._values.get(key)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return the rows of [start, end), copied at the call, at most `limit`."""
        self._check_open()
        with self._changing:
            low, high = self._keys.bisect_left(start), self._keys.bisect_left(end)
            if limit is not None and reverse:
                low = max(low, high - limit)
            elif limit is not None:
                high = min(high, low + limit)
            keys = self._keys.islice(low, high, reverse=reverse)
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
        self.write([format_stamp(version)])

    def write(self, changes: Sequence[RowChange]) -> None:
        self._check_open()
        check_keys(changes)
        with self._changing:
            for key, value in changes:
                if value is not None:
                    if key not in self._values:
                        self._keys.add(key)
                    self._values[key] = value
                elif self._values.pop(key, None) is not None:
                    self._keys.remove(key)

    def refresh(self) -> None:
        self._check_open()

    def reader(self) -> "MemoryRowReader":
        """Return a reader that sees the present rows until a refresh, like another process."""
        self._check_open()
        return MemoryRowReader(self)

    def copied(self) -> tuple[dict[bytes, bytes], SortedList]:
        """Return the rows of whole batches and their keys in order, for a reader to keep."""
        with self._changing:
            return dict(self._values), self._keys.copy()


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
