"""A commit in one round trip: what changes files alone, and fits one record, needs no open txn.

It is planned from one position. A table that was changed since, in what the commit depends on,
refuses it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ledger.client import Ledger
from ledger.core.commands import TableWrite
from ledger.core.limits import FOOTPRINT_BYTES_MAX
from ledger.core.rows.bitmaps import RowSet
from ledger.log.wire.file_list import AddFile
from ledger.reads.port import FileRow, TableRow
from ledger.session.receipt import Receipt
from ledger.snapshot.reading import TableFiles
from ledger.work.given_files import added_files, columns_of
from ledger.work.noted_rows import StatementRows, with_marks
from ledger.work.staging import riding, size_of
from ledger.work.writes import DeclaredWrites, level_named


class TakesWrites(Protocol):
    """Takes the changes of files in tables, as a txn does."""

    def use(self, read: TableFiles) -> None:
        """Depend on a read."""

    def add_files(self, table: TableRow, files: Sequence[AddFile], *, operation: str = "") -> None:
        """Add files, blindly without a read."""

    def remove_files(
        self, table: TableRow, files: Sequence[FileRow], *, operation: str = "", read_at: int = 0
    ) -> None:
        """Remove files that were live at a position."""

    def rewrite_files(
        self,
        table: TableRow,
        removes: Sequence[FileRow],
        adds: Sequence[AddFile],
        *,
        operation: str = "",
        read_at: int = 0,
    ) -> None:
        """Put the same rows into other files."""

    def mark_rows(
        self,
        table: TableRow,
        rows: Iterable[tuple[FileRow, RowSet]],
        *,
        operation: str = "",
        read_at: int = 0,
    ) -> None:
        """Delete rows of files that stay."""

    def note(self, table: TableRow, key: str, info: Mapping[str, Any]) -> None:
        """Note something about the commit."""


class OneRoundTrip:
    """Gathers the changes of a commit that is planned from a position; see `TakesWrites`."""

    def __init__(self, position: int) -> None:
        self._position = position
        self._writes = DeclaredWrites(position)

    def use(self, read: TableFiles) -> None:
        """Depend on a read."""
        self._writes.read(read)

    def add_files(self, table: TableRow, files: Sequence[AddFile], *, operation: str = "") -> None:
        """Add files; raises ValueError for a partition that the table does not have."""
        kept = list(added_files(files, columns_of(table), data_change=True))
        with self._writes.growing(table.table, operation) as writer:
            writer.add(kept)

    def remove_files(
        self, table: TableRow, files: Sequence[FileRow], *, operation: str = "", read_at: int = 0
    ) -> None:
        """Remove files as of a position."""
        with self._writes.growing(table.table, operation) as writer:
            writer.remove(files, table.partitioned)
            self._writes.plan_from(table.table, read_at)

    def rewrite_files(
        self,
        table: TableRow,
        removes: Sequence[FileRow],
        adds: Sequence[AddFile],
        *,
        operation: str = "",
        read_at: int = 0,
    ) -> None:
        """Put the same rows into other files, as of a position."""
        made = list(added_files(adds, columns_of(table), data_change=False))
        with self._writes.growing(table.table, operation) as writer:
            writer.rewrite(removes, made, table.partitioned)
            self._writes.plan_from(table.table, read_at)

    def mark_rows(
        self,
        table: TableRow,
        rows: Iterable[tuple[FileRow, RowSet]],
        *,
        operation: str = "",
        read_at: int = 0,
    ) -> None:
        """Delete rows of files that stay, as of a position."""
        marked = StatementRows()
        for file, numbers in rows:
            marked.marks[file.path] = numbers
            marked.pairs.append((file, with_marks(file, numbers)))
        with self._writes.growing(table.table, operation) as writer:
            writer.note_rows(marked)
            self._writes.plan_from(table.table, read_at)

    def note(self, table: TableRow, key: str, info: Mapping[str, Any]) -> None:
        """Note something about the commit."""
        self._writes.say(table.table, key, info)

    def commit(self, ledger: Ledger, level: str | None) -> Receipt | None:
        """Commit all of it, or return None if it does not fit one record; raises as a txn does."""
        asked = level_named(level)
        made, room = [], FOOTPRINT_BYTES_MAX
        for part in self._writes.parts((), asked):
            footprint = riding(part, room)
            if footprint is None:
                return None
            room -= size_of(footprint)
            read_at = part.read_at or self._position
            made.append(TableWrite(part.table, read_at, part.writes, footprint))
        return ledger.commit_once(made, level)
