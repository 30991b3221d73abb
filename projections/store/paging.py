"""Long scans, read page by page from a cursor that the store can close.

An open cursor keeps its database open, and the directory of that database locked. A scan of few
rows therefore ends its cursor with its first page. For a longer one the store keeps the `RowPages`
and closes the cursor when it closes itself. A scan never ends early without an error: not after its
cursor was closed, and not at a damaged block.
"""

from typing import Protocol

from projections.errors import StoreClosedError
from projections.store.port import Row

PAGE_ROWS = 512
"""Rows that a scan holds in memory."""


class Cursor(Protocol):
    """A place in ordered rows, moved by `next` and `prev`; RocksDB calls it an iterator."""

    def valid(self) -> bool:
        """Return whether there is a row here: false at either end, and after an error."""
        ...

    def status(self) -> None:
        """Raise the error that made the cursor invalid, if there was one."""
        ...

    def key(self) -> bytes:
        """Return the key of the row here."""
        ...

    def value(self) -> bytes:
        """Return the value of the row here."""
        ...

    def next(self) -> None:
        """Go to the row above."""
        ...

    def prev(self) -> None:
        """Go to the row below."""
        ...


class RowPages:
    """The rows from a cursor on, down to key `start`, up to `end` if the cursor ends there itself.

    `end` is kept because RocksDB holds only a pointer to those bytes.
    """

    def __init__(
        self, cursor: Cursor, start: bytes, end: bytes, *, limit: int, reverse: bool
    ) -> None:
        self._cursor: Cursor | None = cursor
        self._start = start
        self._end = end
        self._left = limit
        self._reverse = reverse
        self._is_taken = False

    @property
    def is_live(self) -> bool:
        """Whether a cursor is open, because rows may be left."""
        return self._cursor is not None

    def take(self) -> None:
        """Close the cursor; if rows may be left, `read` raises from now on."""
        self._is_taken = self.is_live
        self._cursor = None

    def read(self) -> list[Row]:
        """Return the next page, empty at the end.

        Raises:
            StoreClosedError: the cursor was closed by `take`.
        """
        if self._is_taken:
            raise StoreClosedError("the store under this scan")
        page = [] if self._cursor is None else self._read(self._cursor)
        self._left -= len(page)
        return page

    def _read(self, cursor: Cursor) -> list[Row]:
        step = cursor.prev if self._reverse else cursor.next
        page: list[Row] = []
        while cursor.valid() and (key := cursor.key()) >= self._start:
            page.append((key, cursor.value()))
            if len(page) == self._left:  # A further step might pass over many deleted rows.
                break
            step()
            if len(page) == PAGE_ROWS:
                return page
        else:
            cursor.status()
        self._cursor = None
        return page
