"""The table of a statement as its txn sees it: its files, its rows, and how they are replaced."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.partition_rows import partition_scalar
from ledger.arrow.schema import TableSchema
from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import column_metadata
from ledger.core.predicates.tree import Node
from ledger.definitions.definitions import changed_definition
from ledger.definitions.names import TableLike
from ledger.definitions.time_zones import ZoneLike
from ledger.expressions.bounds import file_may_hold
from ledger.expressions.duckdb.conditions import RowCondition, row_condition
from ledger.files.data_files import TARGET_BYTES, write_rows
from ledger.files.data_reading import read_file
from ledger.files.progress import shown
from ledger.files.rows.placing import Placing
from ledger.files.storage import storage_at
from ledger.files.written_files import WrittenFiles, discard
from ledger.log.wire.file_list import AddFile
from ledger.properties.column_lists import SortKey
from ledger.properties.column_mapping import is_published
from ledger.properties.column_values import raised
from ledger.properties.known_properties import asks_for_marks
from ledger.reads.row_counts import ChangedRows
from ledger.reads.rows import FileRow
from ledger.snapshot.reading import TableFiles, is_in_folders
from ledger.snapshot.table_snapshot import TableSnapshot
from ledger.statements.altering import alter
from ledger.statements.columns.completed import ColumnValues
from ledger.statements.judge import RowJudge
from ledger.work.noted_rows import StatementRows
from ledger.work.unit_of_work import Work

FILES_SKIPPED_FROM: Final = 2
"""A single file is read without a look at its statistics."""


class StatementTable:
    """A table in one txn; `verb` is the statement, for its errors."""

    def __init__(
        self,
        work: Work,
        table: TableLike,
        verb: str,
        *,
        time_zone: ZoneLike | None = None,
        is_read: bool = False,
    ) -> None:
        self.work, self.verb = work, verb
        work.check()
        self.number, _ = work.names.find(table)
        self._turn = Lock()
        self._is_read = is_read
        # What the txn makes of the table once the rows are written.
        self._pending: TableDefinition | None = None
        self._see(work.snapshot(self.number, time_zone=time_zone))
        self.zone = self.snapshot.zone
        self._check_writable()

    @property
    def is_new(self) -> bool:
        """Whether the txn itself created the table."""
        return self.row.creator == self.work.id

    def check_listed(self) -> None:
        """Raise ValueError for a table whose files the ledger does not list."""
        if is_in_folders(self.row):
            raise ValueError(
                f"{self.verb} needs a table whose files the ledger lists, and the rows of table "
                f"{self.row.name} lie in folders: write them by other means, and declare that with "
                "txn.wrote"
            )

    def condition(self, where: Node | None) -> RowCondition:
        """Return a condition on rows; raises PredicateSyntaxError and UnknownColumnError."""
        return row_condition(where, self.schema, self.zone)

    def evolve(
        self, columns: Sequence[Any], partition_columns: Sequence[str] | None = None
    ) -> None:
        """Take other columns for the rows; the txn alters the table when it takes the rows."""
        by = self.definition.partition_columns if partition_columns is None else partition_columns
        self._pending = changed_definition(self.definition, columns=columns, partition_columns=by)
        self._see(self.snapshot.changed_to(self.row._replace(definition=self._pending)))
        self._check_writable()

    @property
    def values(self) -> ColumnValues:
        """What the statement adds to rows that leave out columns."""
        return ColumnValues(self.schema, self.zone, self.numbers)

    @property
    def by_row(self) -> bool:
        """Whether rows are the grain of the table."""
        return asks_for_marks(self.definition)

    def judge(self) -> RowJudge:
        """Return a judge of rows, for a `with` block."""
        return RowJudge(self.row.name)

    def read(
        self, where: Node | None, *, record: bool = True, by_row: bool = False
    ) -> Sequence[FileRow]:
        """Return the files that may hold rows of a condition, and note the read.

        A file whose statistics exclude every row is left out. `by_row`: of the files only the rows
        count that the statement notes.
        """
        found = self.find(where, record=record, by_row=by_row)
        if where is None or len(found.files) < FILES_SKIPPED_FROM:
            return found.files
        tree, then = where.in_zone(self.zone), self.snapshot.schema_of
        return [file for file in found.files if file_may_hold(tree, file, self.schema, then)]

    def find(self, where: Node | None, *, record: bool = True, by_row: bool = False) -> TableFiles:
        """Return a read of the table with the txn's own changes; the rest is as for `read`."""
        found = self.snapshot.files(where, record=record and not by_row)
        if by_row and not self.is_new:
            self.work.check()
            self.work.writes.read(found, by_row=True)
        return found

    def shown(self, files: Sequence[FileRow]) -> Iterator[FileRow]:
        """Yield files, and show how many are done if that takes long."""
        return shown(files, len(files), f"{self.verb} {self.row.name}, files")

    def rows(
        self,
        file: FileRow,
        columns: Sequence[str] | None = None,
        written: TableSchema | None = None,
    ) -> Any:
        """Return the rows of a file, with all columns of the table or the named ones.

        `written` is the schema for which it was written, by default the one when it was added.
        """
        storage = storage_at(self.definition.location)
        then = self.snapshot.schema_of(file) if written is None else written
        return read_file(storage, file, self.schema, columns, written=then)

    def partitions(self, files: Iterable[FileRow]) -> dict[tuple[str | None, ...], None] | None:
        """Return the partitions of files, None if a file may have other partition columns."""
        found: dict[tuple[str | None, ...], None] = {}
        for file in files:
            if file.added <= self.row.partitioned:
                return None
            if len(file.partition) != len(self.schema.partition_columns):
                return None
            found[tuple(file.partition)] = None
        return found

    def write(
        self,
        batches: Iterable[Any],
        target_bytes: int = TARGET_BYTES,
        order: Sequence[SortKey] | None = None,
        *,
        placing: Placing | None = None,
        has_blocks: bool | None = None,
    ) -> Sequence[AddFile]:
        """Write rows into new files of the txn, by default in the order of the table.

        Few rows go into the log where the table wants that and has room there, unless without
        `has_blocks`; by default, unless the table is published. Its log shows no rows of the log,
        and holds back what changes rows beside them.
        """
        self.check_listed()
        storage = storage_at(self.definition.location)
        schema = self.schema if order is None else replace(self.schema, sort=order)
        files = write_rows(
            storage,
            schema,
            batches,
            writer=self.work.writer,
            target_bytes=target_bytes,
            placing=placing,
            has_blocks=bool(schema.inline) and self._may_be_in_log(asked=has_blocks),
            keys=self.work.view.keys,
        )
        paths = [file.path for file in files]
        self.work.files.note(self.definition.location, storage, paths, self.definition)
        return files

    def _may_be_in_log(self, *, asked: bool | None) -> bool:
        """Return whether few rows may go into the log; None asks for what suits the table."""
        may = not is_published(self.definition) if asked is None else asked
        return may and self.work.names.client.log_room.has(self.row)

    def replace(
        self,
        removes: Sequence[FileRow],
        adds: Sequence[AddFile],
        operation: str,
        rows: StatementRows | None = None,
    ) -> None:
        """Note that files give way to others; the txn's own ones are in no commit.

        `rows` is what the statement did row by row, None if its grain is the file.
        """
        has_marks = rows is not None and bool(rows.marks)
        with self.kept(adds):
            if removes or has_marks:
                check_may_remove(self.row.name, self.definition)
            self._settle()
        if not (removes or adds or has_marks):
            return
        with self.kept(adds), self.work.writes.growing(self.number, operation) as writer:
            if rows is not None:
                writer.note_rows(rows)
            own = writer.replace(removes, adds, self.row.partitioned)
            self.work.writes.plan_from(self.number, 0)
        self.work.files.replace(self.definition.location, own)

    def add(
        self, adds: Sequence[AddFile], operation: str, rows: StatementRows | None = None
    ) -> None:
        """Note new files; `rows` has what is known of their rows."""
        with self.kept(adds):
            self._settle()
        with self.kept(adds), self.work.writes.growing(self.number, operation) as writer:
            writer.add(adds)
            if rows is not None:
                writer.note_rows(rows)

    def rewrite(
        self,
        removes: Sequence[FileRow],
        adds: Sequence[AddFile],
        rows: StatementRows | None,
        operation: str,
    ) -> None:
        """Note that the same rows are in other files."""
        with self.kept(adds), self.work.writes.growing(self.number, operation) as writer:
            writer.rewrite(removes, adds, self.row.partitioned)
            if rows is not None:
                writer.note_rows(rows)
            self.work.writes.plan_from(self.number, 0)

    def counted(self, rows: ChangedRows) -> ChangedRows:
        """Note the rows that the statement changed in the receipt of its txn, and return them."""
        self.work.writes.count(self.number, rows)
        return rows

    def kept(self, adds: Sequence[AddFile]) -> "KeptFiles":
        """Return a block that deletes new files if the txn does not take them.

        Files that are added to `adds` within the block count as well.
        """
        return KeptFiles(self.definition.location, adds, self.work.files)

    def numbers(self, column: int, count: int) -> range:
        """Return numbers for an identity column; threads may ask at once.

        A txn that makes the table, or alters it, raises the mark by that change: it cannot commit
        both that and another change of the table.
        """
        with self._turn:
            return self._numbers(column, count)

    def _numbers(self, column: int, count: int) -> range:
        if self._pending is None and self.work.names.own(self.number) is None:
            return self.work.names.client.identities.take(self.number, column, count)
        self._pending, found = raised(self._pending or self.definition, column, count)
        return found

    def _settle(self) -> None:
        """Alter the table as the rows need it: nothing can fail but the commit now."""
        if self._pending is not None:
            definition, self._pending = self._pending, None
            alter(self.work, self.number, definition)
            own = self.work.names.own(self.number)
            if own is not None:
                self._see(self.snapshot.changed_to(own))

    def _see(self, snapshot: TableSnapshot) -> None:
        """Take the table as the txn sees it from now on."""
        self.snapshot, self.row = snapshot, snapshot.seen
        self.definition, self.schema = snapshot.definition, snapshot.schema

    def _check_writable(self) -> None:
        if not self._is_read:
            check_writable(self.row.name, self.definition)


class KeptFiles:
    """Deletes new files if the block raises: no commit names them."""

    def __init__(self, location: str, files: Sequence[AddFile], data: WrittenFiles) -> None:
        self._location = location
        self._files, self._data = files, data

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            return
        # A file of an earlier version may come back: readers of that version need it.
        written = self._data.definition
        own = [file.path for file in self._files if written(self._location, file.path) is not None]
        if own:
            discard(storage_at(self._location), own)


# What a writer would have to compute or check, by Delta's names of metadata and properties.
COMPUTED: Final = (("delta.invariants", "has an invariant"),)
APPEND_ONLY: Final = "delta.appendonly"


def check_writable(name: str, definition: TableDefinition) -> None:
    """Raise ValueError for a table with columns that a writer would have to compute."""
    for column in definition.columns:
        for mark, what in COMPUTED:
            if mark not in column.metadata:
                continue
            known = column_metadata(column).get(mark, "")
            said = f" ({known})" if known else ""
            raise ValueError(
                f"column {column.name} of table {name} {what}{said}, which is not supported here: "
                "write the table with Delta's own tools"
            )


def check_may_remove(name: str, definition: TableDefinition) -> None:
    """Raise ValueError for a table whose rows are only ever appended to."""
    for key, value in definition.properties:
        if key.lower() == APPEND_ONLY and value.lower() == "true":
            raise ValueError(
                f"table {name} has {key} = {value}, so its rows stay as they are: insert rows, or "
                "unset the property"
            )


def partition_rows(table: StatementTable, partitions: Sequence[Sequence[str | None]]) -> Any:
    """Return partitions as rows of the table's partition columns."""
    columns = [table.schema.find(name) for name in table.schema.partition_columns]
    arrays = {
        each.name: pa.array(
            [partition_scalar(values[at], each, "").as_py() for values in partitions], each.type
        )
        for at, each in enumerate(columns)
        if each is not None
    }
    return pa.table(arrays)
