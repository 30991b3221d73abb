"""The rows of one data file as its table shows them.

Columns are found by id, partition values come from the log, and deleted rows are left out.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet as pq

from ledger.arrow.partition_rows import partition_scalars
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.errors import UnreadableTableError
from ledger.files.bloom_filters import Has, filter_of
from ledger.files.deletion_vectors import DeletedRows, deleted_rows, kept
from ledger.files.file_columns import as_column, places, type_then
from ledger.files.storage import Storage
from ledger.reads.port import FileRow

BATCH_ROWS: Final = 65_536
ROW_NUMBER: Final = "_row_number"
"""The name of the column with each row's number in its file, if it is asked for."""


class OpenedFile:
    """One data file, open for reads.

    `schema` is the table's schema for the reader, `written` the schema when the file was added.
    """

    def __init__(
        self, storage: Storage, file: FileRow, schema: TableSchema, written: TableSchema
    ) -> None:
        self.file, self.schema, self.written = file, schema, written
        self.storage = storage
        self.partition = partition_scalars(file, schema, written)
        with unreadable_named(file):
            self.parquet = pq.ParquetFile(
                storage.open(file.path), coerce_int96_timestamp_unit="us", pre_buffer=True
            )
            self.arrow = self.parquet.schema_arrow
        self.places = places(self.arrow, schema, written)
        vector = file.deletion_vector
        if file.vector and vector is None:
            raise UnreadableTableError(
                f"file {file.path} has deletion vector {file.vector}, and the log does not say "
                "where it lies; import the table again"
            )
        self.deleted = None if vector is None else deleted_rows(storage, vector)
        self.rows = int(self.parquet.metadata.num_rows)
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
            groups = range(self.parquet.num_row_groups)
        for start, batch in self.raw(read, groups):
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
        metadata, start, found = self.parquet.metadata, 0, []
        for at in range(metadata.num_row_groups):
            end = start + metadata.row_group(at).num_rows
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

    def raw(
        self, read: Sequence[int], groups: Sequence[int]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches of top-level columns of the file, with the number of each first row."""
        metadata = self.parquet.metadata
        starts = [0]
        for at in range(metadata.num_row_groups):
            starts.append(starts[-1] + metadata.row_group(at).num_rows)
        leaves = self.leaves(read)
        for group in groups:
            start, end = starts[group], starts[group + 1]
            if not read:
                for first in range(start, end, BATCH_ROWS):
                    yield first, blank(min(BATCH_ROWS, end - first))
                continue
            with unreadable_named(self.file):
                # By place: names of columns may hold dots, as paths of leaves do.
                for batch in self.parquet.reader.iter_batches(
                    BATCH_ROWS, row_groups=[group], column_indices=leaves
                ):
                    yield start, batch
                    start += batch.num_rows

    def leaves(self, read: Sequence[int]) -> list[int]:
        """Return the places of the leaf columns below top-level columns of the file."""
        found: list[int] = []
        first = 0
        for at, field in enumerate(self.arrow):
            count = leaf_count(field.type)
            if at in read:
                found += range(first, first + count)
            first += count
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

    def filter(self, part: Any) -> Has:
        """Return the Bloom filter of a column of a row group, which is read when it is asked."""

        @cache
        def found() -> Has | None:
            with self.storage.open(self.file.path) as stream:
                stream.seek(part.bloom_filter_offset)
                data = stream.read(part.bloom_filter_length)
            return filter_of(bytes(data), part.physical_type)

        def has(value: Any) -> bool:
            known = found()
            return known is None or known(value)

        return has

    def close(self) -> None:
        """Close the file."""
        self.parquet.close(force=True)


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


def leaf_count(type_: pa.DataType) -> int:
    """Return the number of leaf columns that a type has in a file."""
    if not pa.types.is_nested(type_):
        return 1
    return sum(leaf_count(type_.field(at).type) for at in range(type_.num_fields))


def blank(rows: int) -> pa.RecordBatch:
    """Return rows without columns of the file."""
    return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=[""])


@contextmanager
def unreadable_named(file: FileRow) -> Iterator[None]:
    """Raise UnreadableTableError, with the file's path, for bytes that are no Parquet."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
        raise UnreadableTableError(
            f"file {file.path} cannot be read as Parquet: {problem}. Restore it from a copy, or "
            "remove it from the table"
        ) from problem
