"""New tables and appends: rows in files that a single commit adds, and columns for them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import pyarrow as pa

from ledger.arrow.casts import by_name
from ledger.arrow.given_rows import as_batches, opened
from ledger.arrow.given_types import plain_schema
from ledger.arrow.schema import TableSchema
from ledger.arrow.types import sql_type
from ledger.core.commands import Column
from ledger.files.data_files import write_rows
from ledger.files.file_writers import FileWriter
from ledger.files.storage import storage_at
from ledger.files.written_files import discard
from ledger.keys.folder import KeyFolder
from ledger.reads.rows import TableRow
from ledger.snapshot.reading import check_listed
from ledger.statements.columns.completed import ColumnValues
from ledger.statements.constraints import RowChecks
from ledger.statements.inserting import CountedRows
from ledger.statements.target import check_writable

Numbers = Callable[[int, int, int], range]


class AppendTarget:
    """What a table asks of rows that are appended: its columns, its checks, its computed values.

    `numbers` returns numbers for an identity column of a table, by their ids. Threads may share it.

    Attributes:
        row: the table for which rows are made.
        schema: its columns.
    """

    def __init__(self, row: TableRow, zone: str, numbers: Numbers) -> None:
        check_listed(row)
        check_writable(row.name, row.definition)
        self.row, self.schema = row, TableSchema.of(row.definition, row.name, row.table)
        self._checks = RowChecks(row.name, row.definition, zone)
        self._values = ColumnValues(self.schema, zone, partial(numbers, row.table))

    def batches(self, rows: Any) -> Any:
        """Return rows as checked batches in the columns of the table; raises as `as_batches`."""
        return self._checks.over(as_batches(rows, self.schema, self._values.complete))


class GivenRows:
    """The rows of one append in memory: as they were given, and as a table stores them.

    Attributes:
        given: the rows in their own columns.
        count: how many they are.
        size: the bytes that they have as the table stores them.
    """

    def __init__(self, rows: Any, target: AppendTarget) -> None:
        self.given = opened(rows, target.schema).read_all()
        self.count, self.size = len(self.given), 0
        self._batches: Sequence[Any] = ()
        self._target: AppendTarget | None = None

    def fit(self, target: AppendTarget) -> Sequence[Any]:
        """Return batches in the columns of a table, made once; raises as `AppendTarget.batches`."""
        if self._target is not target:
            self._batches = list(target.batches(self.given))
            self._target = target
            self.size = sum(batch.nbytes for batch in self._batches)
        return self._batches


def fitted_together(parts: Sequence[GivenRows], target: AppendTarget) -> Sequence[Any]:
    """Return the rows of several appends as a table stores them; raises as `GivenRows.fit`."""
    batches = [batch for part in parts for batch in part.fit(target)]
    if len(parts) == 1:
        return batches
    return [pa.Table.from_batches(batches, target.schema.arrow).combine_chunks()]


def given_together(parts: Iterable[GivenRows]) -> Iterator[Any]:
    """Yield the rows of several appends as they were given, those with the same columns as one."""
    for _, alike in groupby((part.given for part in parts), lambda rows: rows.schema):
        yield pa.concat_tables(alike)


class NewRows:
    """Rows of a target written into files that no commit names yet.

    With `has_blocks` few rows go into the log where the table wants that, sealed with `keys` if it
    is encrypted.

    Attributes:
        files: the files to add.
        count: how many rows they have.
    """

    def __init__(
        self,
        target: AppendTarget,
        batches: Any,
        ledger: str,
        *,
        has_blocks: bool = True,
        keys: KeyFolder | None = None,
    ) -> None:
        row = target.row
        self._storage = storage_at(row.definition.location)
        counted = CountedRows(batches, f"append {row.name}, rows")
        writer = FileWriter.of(ledger)
        self.files = write_rows(
            self._storage, target.schema, counted, writer=writer, has_blocks=has_blocks, keys=keys
        )
        self.count = counted.count

    def discard(self) -> None:
        """Delete the files: no commit will name them."""
        discard(self._storage, [file.path for file in self.files])


class RowsOfNewTable:
    """The columns of a table that is made for rows, or for a schema of Arrow.

    Attributes:
        columns: the columns, with ids from 1.
        reader: the rows as batches, None for a schema alone.
    """

    def __init__(self, given: Any) -> None:
        self.reader = None if isinstance(given, pa.Schema) else opened(given)
        schema = plain_schema(given) if self.reader is None else self.reader.schema
        by_name(schema.names, "the columns of a table")
        self.columns: Sequence[Column] = [
            column_of(field, number, is_strict=self.reader is None)
            for number, field in enumerate(schema, start=1)
        ]


def column_of(field: Any, number: int, *, is_strict: bool) -> Column:
    """Return a column for a field of Arrow; rows alone do not make a column NOT NULL."""
    if pa.types.is_null(field.type):
        raise ValueError(
            f"column {field.name} must have a type, and all its values are NULL: give its type, "
            "such as pa.string(), in a schema"
        )
    nullable = field.nullable or not is_strict
    return Column(field.name, sql_type(field.type, field.name), nullable, number)
