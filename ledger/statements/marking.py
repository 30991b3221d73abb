"""Changed files: what a statement makes of the files whose rows it deletes or changes.

In a table whose property `lakeledger.rows` is `marks`, a file stays while few of its rows are hit,
and the commit marks these. Any other file is written anew without them, and the commit says where
the copied rows are. So statements that change different rows of one file do not conflict.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ledger.core.predicates.tree import Node
from ledger.core.rows.bitmaps import RowSet, bytes_of, empty, rows_from, rows_in
from ledger.core.rows.moves import Move
from ledger.expressions.column_bounds import parsed_stats
from ledger.files.data_reading import ROW_NUMBER, OpenedFile, read_file
from ledger.files.deletion_vectors import deleted_rows, portable
from ledger.files.file_columns import has_names_of
from ledger.files.rows.placing import CopiedFile, CopiedRows, Placing, moved_rows
from ledger.files.rows.told_values import ToldValues
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile
from ledger.log.wire.inline_vectors import TIGHT, inline_rows, inline_vector, with_vector
from ledger.properties.column_lists import CONFLICTS, KEY, list_of
from ledger.properties.known_properties import asks_for_unique
from ledger.reads.rows import FileRow
from ledger.snapshot.overlay import file_row
from ledger.snapshot.reading import TableFiles
from ledger.snapshot.scan_rows import groups_holding
from ledger.statements.target import StatementTable
from ledger.statements.unique_keys import check_unique
from ledger.work.noted_rows import StatementRows, added_again

SHARE: Final = 10
"""The number of rows of a file for each row that is marked."""

FEW: Final = 100
"""So many rows are marked in any file: every statement beside this one then finds it in place."""

READ_BYTES_MAX: Final = 4 << 20
"""Larger files of other programs are not read for the values in them."""

BITMAP_BYTES_MAX: Final = 32 << 10
"""A longer bitmap would fill the log: then the file is written anew, and its rows count as one."""


class ChangedFiles:
    """The files whose rows one statement changes.

    `columns` are the columns that its condition names: the commit states their values in new rows.

    Attributes:
        files: the files that give way, whole once the rows are written.
        placing: where the written rows are, None in a table whose grain is the file.
    """

    def __init__(self, table: StatementTable, columns: Iterable[str] = ()) -> None:
        self.files: list[FileRow] = []
        self.placing: Placing | None = None
        self._table = table
        self._rows = StatementRows()
        self._stated: list[str] = []
        # Files of other writers that get a vector in the log.
        self._revectored: list[AddFile] = []
        self._sources: dict[str, CopiedFile] = {}
        self._storage = storage_at(table.definition.location)
        if table.by_row:
            self.placing = Placing(ToldValues(table.schema, told_names(table, columns)))

    @property
    def by_row(self) -> bool:
        """Whether rows are the grain of the table."""
        return self.placing is not None

    def read(self, where: Node | None) -> Sequence[FileRow]:
        """Return the files that may hold rows of a condition, and note the read."""
        return self._table.read(where, by_row=self.by_row)

    def rows(self, file: FileRow, where: Node | None) -> tuple[Any, Any]:
        """Return the rows of a file that may fulfil a condition, and their numbers in the file.

        Without numbers (None) they are all rows that the file has left.
        """
        table = self._table
        if not self.by_row or where is None:
            return table.rows(file), None
        then = table.snapshot.schema_of(file)
        with closing(OpenedFile(self._storage, file, table.schema, then)) as opened:
            groups = groups_holding(opened, where.in_zone(table.zone))
            if groups is None or len(groups) == len(opened.source.group_rows):
                return opened.table(), None
            found = opened.table(numbered=True, groups=groups)
        return found.drop_columns([ROW_NUMBER]), found[ROW_NUMBER]

    def gone(self, file: FileRow) -> None:
        """Take a file all of whose rows are deleted."""
        self.files.append(file)
        size = size_of(file)
        if self.by_row and size is not None and not self._is_own(file):
            self._mark_all(file.path, size, self._deleted(file))

    def change(self, file: FileRow, rows: Any, hit: Any, numbers: Any = None) -> Iterator[Any]:
        """Take some rows out of a file, and yield the rows to copy into a new one.

        `rows` and `numbers` are as `rows` returns them, `hit` says for each whether it is taken
        out.
        """
        if numbers is not None:
            taken = empty()
            taken.update(numbers.filter(hit).to_pylist())
            size = size_of(file)
            if size is not None and self.mark(file, taken, size):
                return
            found = self._all_rows(file)
            hit = pc.is_in(found[ROW_NUMBER], pa.array(list(taken), pa.int64()))
            rows = found.drop_columns([ROW_NUMBER])
        if not self.by_row:
            self.files.append(file)
            yield rows.filter(pc.invert(hit))
            return
        deleted = self._deleted(file)
        numbers = numbered(one_array(hit), deleted)
        if len(numbers) == len(rows):
            self.gone(file)
        elif self._is_own(file):
            # The file is in no commit yet, so its rows are as new as all others of the txn.
            self.files.append(file)
            yield rows.filter(pc.invert(hit))
        elif not self.mark(file, numbers, len(rows) + len(deleted)):
            self.copy(file, numbers, deleted, len(rows) + len(deleted))
            kept = rows.filter(pc.invert(hit))
            yield CopiedRows([(file.path, len(kept))], kept)

    def mark(self, file: FileRow, numbers: RowSet, size: int) -> bool:
        """Mark rows of a file by their numbers and return True, or False if it must give way.

        A file with a vector that another writer stored gets one in the log, with these rows: this
        once the file as a whole counts as changed.
        """
        known = parsed_stats(file.stats)
        if known.get(TIGHT) is True or known.get("numRecords") != size:
            return False
        if self._is_own(file) or not self._may_stay(file):
            return False
        vector = inline_vector(self._deleted(file) | numbers)
        is_few = vector.cardinality * SHARE <= size or len(numbers) <= FEW
        if not is_few or vector.size > BITMAP_BYTES_MAX:
            return False
        if is_markable(file):
            self._rows.marks[file.path] = numbers
            self._rows.pairs.append((file, with_vector(added_again(file), vector)))
        else:
            self._revectored.append(with_vector(added_again(file), vector))
        self.files.append(file)
        return True

    def copy(self, file: FileRow, numbers: RowSet, deleted: RowSet, size: int) -> None:
        """Let a file of `size` rows give way to copies of all rows but some."""
        self.files.append(file)
        stayed = numbers | deleted
        if max(len(bytes_of(numbers)), len(bytes_of(stayed))) > BITMAP_BYTES_MAX:
            self._mark_all(file.path, size, deleted)
            return
        if numbers:
            self._rows.marks[file.path] = numbers
        self._sources[file.path] = CopiedFile(size, stayed)

    def rewrite(self, files: Sequence[FileRow], counts: Sequence[int], rows: Any) -> Any:
        """Let files give way to a copy of all rows that they have left, and return the copy.

        `counts` says how many of the rows each file has.
        """
        if not self.by_row:
            self.files += files
            return rows
        for file, count in zip(files, counts, strict=True):
            deleted = self._deleted(file)
            self.copy(file, empty(), deleted, count + len(deleted))
        paths = (file.path for file in files)
        return CopiedRows(list(zip(paths, counts, strict=True)), rows)

    def keep(self, file: FileRow, hit: Any) -> None:
        """Note rows of a file that the statement matched and leaves as they are."""
        if self.by_row and not self._is_own(file):
            numbers = numbered(one_array(hit), self._deleted(file))
            if numbers:
                self._rows.read[file.path] = self._rows.read.get(file.path, empty()) | numbers

    def state_given(self, adds: Sequence[AddFile]) -> None:
        """State values of the rows of small files that another program wrote for the statement.

        The values are read from the files. Of large files nothing is stated.
        """
        table = self._table
        if self.placing is None or sum(add.size for add in adds) > READ_BYTES_MAX:
            return
        names = [column.name for column in self.placing.told.columns]
        unread = TableFiles(table.row, table.snapshot.position, "", ())
        for add in adds if names else ():
            rows = table.rows(file_row(add, unread), names)
            self.placing.told.take(tuple(add.partition), rows)
            self._stated.append(add.path)

    def note(self, adds: Sequence[AddFile], operation: str, given: Sequence[AddFile] = ()) -> None:
        """Note in the txn what the statement changed: files that give way, and marked rows.

        Beside the files that it wrote, it may add `given` ones, of whose rows it knows nothing.
        Raises DuplicateKeyError if a table with unique keys would have a key twice.
        """
        rows, every = self.noted(adds), [*adds, *self._revectored, *given]
        staying = {file.path for file, _ in rows.pairs} if rows is not None else set()
        gone = [file for file in self.files if file.path not in staying]
        self._check_unique(every, gone, rows)
        self._table.replace(gone, every, operation, rows)

    def note_added(
        self, adds: Sequence[AddFile], operation: str, given: Sequence[AddFile] = ()
    ) -> None:
        """Note in the txn the files that an insert wrote, or was given; raises as `note`."""
        rows, every = self.noted(adds), [*adds, *given]
        self._check_unique(every, (), None)
        has_values = rows is not None and any(each.columns for each in rows.added)
        self._table.add(every, operation, rows if has_values else None)

    def note_rewritten(self, adds: Sequence[AddFile], operation: str = "OPTIMIZE") -> None:
        """Note in the txn that the same rows are in other files."""
        self._table.rewrite(self.files, adds, self.noted(adds), operation)

    def _check_unique(
        self, adds: Sequence[AddFile], gone: Sequence[FileRow], rows: StatementRows | None
    ) -> None:
        table = self._table
        if adds and asks_for_unique(table.definition):
            with table.kept(adds):
                check_unique(table, adds, gone, rows.marks if rows is not None else {})

    def noted(self, adds: Sequence[AddFile]) -> StatementRows | None:
        """Return what the statement did row by row, given its new files; None at file grain."""
        if self.placing is None:
            return None
        placed = [each for each in self.placing.placed if each.source in self._sources]
        self._rows.moved = list(moved_rows(placed, self._sources))
        whole = {moved.source for moved in self._rows.moved}
        for path, source in self._sources.items():
            if path not in whole:
                hit = self._rows.marks.get(path, empty())
                # A file without any row left needs no mark, and gives way to nothing.
                self._mark_all(path, source.size, source.stayed - hit)
        self._rows.added = self.placing.told.rows()
        again = (add.path for add in self._revectored)
        self._rows.told = [*(add.path for add in adds), *again, *self._stated]
        return self._rows

    def _mark_all(self, path: str, size: int, deleted: RowSet) -> None:
        """Mark all rows that a file has left, if there is one."""
        rows = all_left(size, deleted)
        if rows:
            self._rows.marks[path] = rows

    def _all_rows(self, file: FileRow) -> Any:
        table = self._table
        then = table.snapshot.schema_of(file)
        return read_file(self._storage, file, table.schema, written=then, numbered=True)

    def _deleted(self, file: FileRow) -> RowSet:
        vector = file.deletion_vector
        if vector is None:
            return empty()
        return rows_in(portable(deleted_rows(self._storage, vector)))

    def _is_own(self, file: FileRow) -> bool:
        """Return whether the txn itself wrote a file."""
        location = self._table.definition.location
        return self._table.work.files.definition(location, file.path) is not None

    def _may_stay(self, file: FileRow) -> bool:
        """Return whether a file may stay as it is, with another vector."""
        noted = self._table.work.writes.noted(self._table.number)
        is_new = noted is not None and noted.adds(file.path, file.vector)
        if is_new or (file.vector and file.deletion_vector is None):
            return False
        then = self._table.snapshot.schema_of(file)
        schema = self._table.schema
        is_divided_alike = list(then.partition_columns) == list(schema.partition_columns)
        return is_divided_alike and has_names_of(then, schema)


def all_left(size: int, deleted: RowSet) -> RowSet:
    """Return the rows that a file has left, to mark all of them.

    A rewrite beside the statement leaves out rows that were deleted before, so to mark these as
    well would be a conflict. If the bitmap would be too long, all numbers are returned.
    """
    left = rows_from(0, size) - deleted
    return left if len(bytes_of(left)) <= BITMAP_BYTES_MAX else rows_from(0, size)


def is_markable(file: FileRow) -> bool:
    """Return whether the vector of a file, if it has one, has the form that marks are joined to."""
    try:
        inline_rows(file.deletion_vector)
    except ValueError:
        return False
    return True


def told_names(table: StatementTable, columns: Iterable[str]) -> Sequence[str]:
    """Return the columns whose values are stated: the key's, the table's choice, then others."""
    said = [list_of(table.definition, key) for key in (KEY, CONFLICTS)]
    return [*(each.column for keys in said for each in keys), *columns]


def numbered(hit: Any, deleted: RowSet) -> RowSet:
    """Return the numbers in the file of rows, given which of the rows that are left they are."""
    found = empty()
    found.update(pc.indices_nonzero(pc.fill_null(hit, fill_value=False)).to_pylist())
    return Move("", "", 0, len(hit), deleted).back(found) if deleted else found


def size_of(file: FileRow) -> int | None:
    """Return how many rows a file has by its statistics, deleted ones included; None = unknown."""
    rows = parsed_stats(file.stats).get("numRecords")
    return rows if type(rows) is int and rows > 0 else None


def one_array(values: Any) -> Any:
    """Return values in one piece."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
