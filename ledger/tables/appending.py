"""New tables and appends: rows in files that a single commit adds, and columns for them."""

from collections.abc import Callable, Sequence
from functools import partial
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
from ledger.reads.rows import TableRow
from ledger.snapshot.reading import check_listed
from ledger.statements.columns.completed import ColumnValues
from ledger.statements.constraints import RowChecks
from ledger.statements.inserting import CountedRows
from ledger.statements.target import check_writable

Numbers = Callable[[int, int, int], range]


class NewRows:
    """Rows written into files that no commit names yet.

    `numbers` returns numbers for an identity column of a table, by their ids. With `has_blocks` few
    rows go into the log where the table wants that.

    Attributes:
        files: the files to add.
        count: how many rows they have.
    """

    def __init__(
        self,
        row: TableRow,
        rows: Any,
        zone: str,
        ledger: str,
        numbers: Numbers,
        *,
        has_blocks: bool = True,
    ) -> None:
        check_listed(row)
        check_writable(row.name, row.definition)
        self._storage = storage_at(row.definition.location)
        schema = TableSchema.of(row.definition, row.name, row.table)
        checks = RowChecks(row.name, row.definition, zone)
        values = ColumnValues(schema, zone, partial(numbers, row.table))
        given = checks.over(as_batches(rows, schema, values.complete))
        counted = CountedRows(given, f"append {row.name}, rows")
        writer = FileWriter.of(ledger)
        self.files = write_rows(
            self._storage, schema, counted, writer=writer, has_blocks=has_blocks
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
