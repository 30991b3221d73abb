"""The rows of one data file as its table shows them.

Columns are found by id, partition values come from the log, and deleted rows are left out.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from ledger.arrow.partition_rows import partition_scalars
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.errors import UnreadableTableError
from ledger.files.deletion_vectors import DeletedRows, deleted_rows, kept
from ledger.files.file_columns import as_column, places, type_then
from ledger.files.rows.blocks import BlockRows
from ledger.files.rows.parquet_rows import ParquetRows
from ledger.files.storage import Storage
from ledger.reads.port import FileRow

ROW_NUMBER: Final = "_row_number"
"""The name of the column with each row's number in its file, if it is asked for."""


class OpenedFile:
    """One data file, or rows in the log, open for reads.

    `schema` is the table's schema for the reader, `written` the schema when the file was added.
    """

    def __init__(
        self, storage: Storage, file: FileRow, schema: TableSchema, written: TableSchema
    ) -> None:
        self.file, self.schema, self.written = file, schema, written
        self.partition = partition_scalars(file, schema, written)
        self.source = (
            BlockRows(file.path, file.rows) if file.rows else ParquetRows(storage, file.path)
        )
        self.places = places(self.source.arrow, schema, written)
        vector = file.deletion_vector
        if file.vector and vector is None:
            raise UnreadableTableError(
                f"file {file.path} has deletion vector {file.vector}, and the log does not say "
                "where it lies; import the table again"
            )
        self.deleted = None if vector is None else deleted_rows(storage, vector)
        self.rows = sum(self.source.group_rows)
        if self.deleted and self.deleted.max() >= self.rows:
            raise UnreadableTableError(
                f"file {file.path} has {self.rows} rows, and its deletion vector names row "
                f"{self.deleted.max()}: one of them is of another file. Restore it from a copy"
            )

    def batches(
        self, columns: Sequence[str], *, numbered: bool = False, groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are not deleted, with these columns and, if wanted, row numbers.

        `groups` are the row groups to read, by default all of them.
        """
        wanted = [self.column(name) for name in columns]
        for each in wanted:
            each.check_readable()
        place_of = {
            each.name: self.places[at]
            for at, each in enumerate(self.schema.columns)
            if each.name not in self.partition
        }
        read = sorted({place for each in wanted if (place := place_of.get(each.name)) is not None})
        if groups is None:
            groups = range(len(self.source.group_rows))
        for start, batch in self.source.batches(read, groups):
            arrays = [self.values(each, place_of.get(each.name), read, batch) for each in wanted]
            fields = [each.field for each in wanted]
            if numbered:
                numbers = pa.array(range(start, start + batch.num_rows), pa.int64())
                arrays.append(numbers)
                fields.append(pa.field(ROW_NUMBER, pa.int64()))
            if not arrays:
                arrays, fields = [pa.nulls(batch.num_rows)], [pa.field("", pa.null())]
            made = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
            if self.deleted is not None:
                made = made.filter(kept(self.deleted, start, batch.num_rows))
            yield made if wanted or numbered else made.select([])

    def table(
        self,
        columns: Sequence[str] | None = None,
        *,
        numbered: bool = False,
        groups: Sequence[int] | None = None,
    ) -> pa.Table:
        """Return rows in one table, by default with all columns; the rest is as for `batches`."""
        names = [each.name for each in self.schema.columns] if columns is None else list(columns)
        batches = list(self.batches(names, numbered=numbered, groups=groups))
        fields = [self.column(name).field for name in names]
        if numbered:
            fields.append(pa.field(ROW_NUMBER, pa.int64()))
        return pa.Table.from_batches(batches, pa.schema(fields))

    def groups_of(self, rows: DeletedRows) -> Sequence[int]:
        """Return the row groups that have any of some rows."""
        start, found = 0, []
        for at, count in enumerate(self.source.group_rows):
            end = start + count
            if rows.range_cardinality(start, end):
                found.append(at)
            start = end
        return found

    def column(self, name: str) -> TableColumn:
        """Return a column of the table."""
        found = self.schema.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def values(
        self, column: TableColumn, place: int | None, read: Sequence[int], batch: pa.RecordBatch
    ) -> pa.Array:
        """Return the values of a column of the table in a batch of the file."""
        scalar = self.partition.get(column.name)
        if scalar is not None:
            return pa.repeat(scalar, batch.num_rows)
        if place is None:
            return pa.repeat(column.absent, batch.num_rows)
        what = f"column {column.name} of file {self.file.path}"
        then = type_then(column, self.schema, self.written)
        return as_column(batch.column(read.index(place)), column.type, then, what)

    def close(self) -> None:
        """Close the file."""
        self.source.close()


def read_file(
    storage: Storage,
    file: FileRow,
    schema: TableSchema,
    columns: Sequence[str] | None = None,
    *,
    written: TableSchema | None = None,
    numbered: bool = False,
) -> pa.Table:
    """Return the rows of a file with columns of its table, by default with all of them.

    `written` is the schema when the file was added, by default `schema`. With `numbered` the last
    column, `_row_number`, has each row's number in the file, deleted rows counted.
    """
    data = OpenedFile(storage, file, schema, written or schema)
    try:
        return data.table(columns, numbered=numbered)
    finally:
        data.close()
