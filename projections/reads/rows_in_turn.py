"""Rows in turn: one reader of a store that threads share, and what a question names in its rows.

Each question first catches up with the writer. Within `still` all questions are answered from one
state.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from ledger.errors import ReaderBehindError
from ledger.reads.errors import check_number, dropped_table, unknown_table, unknown_version
from ledger.reads.port import TableRow, VersionRow
from ledger.reads.whole_numbers import whole_number
from projections.reads import lookups, version_lookups
from projections.store.port import RowReader


class RowsInTurn:
    """The rows of a store, of which one thread at a time reads."""

    def __init__(self, rows: RowReader) -> None:
        self._rows = rows
        self._turn = RLock()
        self._is_still = False

    @contextmanager
    def still(self) -> Iterator[None]:
        """Answer from one state while the block runs; other threads wait."""
        with self._turn:
            self._rows.refresh()
            self._is_still = True
            try:
                yield
            finally:
                self._is_still = False

    def _fresh(self) -> RowReader:
        if not self._is_still:
            self._rows.refresh()
        return self._rows

    def _applied(self, position: int | None) -> int:
        """Return the position if it is applied, and the newest applied position for None."""
        applied = lookups.position(self._rows)
        if position is None:
            return applied
        check_number("position", position)
        wanted = whole_number("position", position)
        if wanted > applied:
            raise ReaderBehindError(applied, wanted, 0)
        return wanted

    def _table(self, table: int) -> TableRow:
        number = whole_number("table", table)
        found = lookups.table(self._rows, number)
        if found is None:
            raise unknown_table(number, lookups.position(self._rows))
        return found

    def _as_of(self, table: int, position: int | None, version: int | None) -> tuple[TableRow, int]:
        """Return a table, and the position of a version of it or else the applied position."""
        place, row = self._applied(position), self._table(table)
        if version is not None:
            place = self._version(row.table, whole_number("version", version)).position
        if 0 < row.dropped <= place:
            raise dropped_table(row.table, row.dropped)
        return row, place

    def _version(self, table: int, version: int) -> VersionRow:
        found = version_lookups.version(self._rows, table, version)
        if found is None:
            raise unknown_version(table, version, version_lookups.newest(self._rows, table))
        return found
