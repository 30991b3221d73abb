"""Scans: the rows of a table at one position, for Arrow, pandas, polars and DuckDB.

A scan is planned when it is made. Its files are read when rows are asked for, each time anew.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.predicates.sql_text import sql_of_node
from ledger.core.predicates.tree import TRUE, TRUE_PREDICATE, Node
from ledger.errors import SettingsError
from ledger.expressions.condition_columns import unknown_column
from ledger.expressions.duckdb.conditions import row_condition
from ledger.expressions.duckdb.terms import identifier
from ledger.files.storage import Storage, storage_at
from ledger.reads.amounts import amount
from ledger.reads.port import FileRow, TableRow
from ledger.reads.whole_numbers import whole_number
from ledger.snapshot.reading import TableFiles
from ledger.snapshot.scan_rows import RowSource, field_of
from ledger.snapshot.table_snapshot import TableSnapshot, in_write_folders

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


class Scan:
    """The rows of a table that fulfil a condition, at one position.

    Attributes:
        table: the table.
        position: the position whose state is read.
        files: the files that may hold such rows; statistics leave out more when rows are read.
    """

    def __init__(
        self,
        snapshot: TableSnapshot,
        found: TableFiles,
        where: Node | None,
        columns: Sequence[str] | None,
        limit: int | None = None,
    ) -> None:
        if limit is not None:
            whole_number("limit", limit)
        self.table: TableRow = snapshot.row
        self.position = snapshot.position
        self.files: Sequence[FileRow] = list(found.files)
        schema, zone = snapshot.schema, snapshot.zone
        self._columns, self._limit = chosen(schema, columns), limit
        is_judged = found.where != TRUE_PREDICATE
        tree = where.in_zone(zone) if where is not None and is_judged else TRUE
        self._source = RowSource(
            files=self.files,
            schema=schema,
            storage=lambda: self._storage,
            schema_then=snapshot.schema_of,
            tree=tree,
            condition=row_condition(where, schema, zone),
            name=snapshot.row.name,
        )
        self._location = snapshot.definition.location

    @classmethod
    def of(
        cls,
        snapshot: TableSnapshot,
        where: Node | None,
        columns: Sequence[str] | None,
        ids: ValidWriteIdList | None = None,
        *,
        limit: int | None = None,
        record: bool = True,
    ) -> "Scan":
        """Return a scan of a table as a reader sees it; `ids` are the write ids of its txn."""
        if in_write_folders(snapshot.row):
            found = snapshot.files_in_folders(where, ids, record=record)
        else:
            found = snapshot.files(where, record=record)
        return cls(snapshot, found, where, columns, limit)

    @property
    def schema(self) -> pa.Schema:
        """The chosen columns with their ids, as Arrow has them."""
        return pa.schema([field_of(self._source.schema, name) for name in self._columns])

    def to_batches(self) -> pa.RecordBatchReader:
        """Return a reader of the rows, which holds a few files at a time.

        Raises UnreadableTableError while it reads, for a missing or damaged file or deletion
        vector, and RowValueError if the condition fails for a row.
        """
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(self._limit))

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table; raises as `to_batches`."""
        return pa.Table.from_batches(self._batches(self._limit), self.schema)

    def head(self, rows: int = 10) -> pa.Table:
        """Return the first rows, in no certain order; few files more are read than they need.

        Raises as `to_batches`, and ValueError for a negative number.
        """
        least = min(whole_number("limit", rows), rows if self._limit is None else self._limit)
        return pa.Table.from_batches(self._batches(least), self.schema)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a frame of pandas; raises as `to_batches`."""
        installed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows as a frame of polars; raises as `to_batches`."""
        polars: Any = installed("polars")
        found: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return found

    def to_duckdb(
        self, connection: "duckdb.DuckDBPyConnection", name: str
    ) -> "duckdb.DuckDBPyRelation":
        """Register the rows under a name in a DuckDB, and return them as its relation.

        Raises as `to_batches`.
        """
        connection.register(name, self.to_arrow())
        return connection.sql(f"SELECT * FROM {identifier(name)}")  # noqa: S608 - quoted

    def count(self) -> int:
        """Return the number of rows, without a read of files whose statistics say it."""
        if self._limit is None:
            return self._source.count()
        return min(self._limit, self._source.count())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Scan of {self._said()}>"

    def _repr_html_(self) -> str:
        from ledger.reads.html import SHOWN_MAX, table_of  # noqa: PLC0415 - for notebooks

        heads = [f"{field.name}: {field.type}" for field in self.schema]
        rows = [list(row.values()) for row in self.head(SHOWN_MAX).to_pylist()]
        return table_of(f"First rows of {self._said()}", heads, rows)

    def _said(self) -> str:
        where = "" if self._source.tree == TRUE else f" where {sql_of_node(self._source.tree)}"
        return (
            f"{self.table.name}{where}: {amount(len(self.files), 'file')}, "
            f"{amount(len(self._columns), 'column')}, at position {self.position}"
        )

    def _batches(self, limit: int | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows, at most `limit` of them."""
        left = limit
        with closing(self._source.batches(self._columns)) as batches:
            while left is None or left > 0:
                if (batch := next(batches, None)) is None:
                    return
                yield batch.slice(0, left)
                left = left if left is None else left - len(batch)

    @cached_property
    def _storage(self) -> Storage:
        return storage_at(self._location)


def chosen(schema: TableSchema, columns: Sequence[str] | None) -> Sequence[str]:
    """Return the columns of a scan as the table spells them, by default all of them.

    Raises UnknownColumnError, UnreadableTableError for a column whose type Arrow lacks, TypeError
    for anything but a list of names, and ValueError for a column that is named twice.
    """
    if columns is None:
        for each in schema.columns:
            each.check_readable()
        return [each.name for each in schema.columns]
    if isinstance(columns, str) or not all(isinstance(each, str) for each in columns):
        raise TypeError(f"columns must be a list of names, such as ['id'], got {columns!r}")
    found: list[str] = []
    for name in columns:
        column = schema.find(name)
        if column is None:
            names = [each.name for each in schema.columns]
            raise unknown_column(schema.name, schema.table, name, names)
        if column.name in found:
            raise ValueError(f"columns must be different, got {name} twice")
        column.check_readable()
        found.append(column.name)
    return found


def installed(library: str) -> object:
    """Return a library; raises SettingsError if it is not installed."""
    import importlib  # noqa: PLC0415

    try:
        return importlib.import_module(library)
    except ImportError as problem:
        raise SettingsError(
            f"this needs {library}, which is not installed. Install it with: pip install {library}"
        ) from problem
