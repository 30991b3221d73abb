"""SQL over tables of a ledger: DuckDB in this process, over one position of the log.

The tables that a query names are read with what the query needs of them, and handed to DuckDB under
the names that the query has for them. DuckDB keeps on disk what memory cannot hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, BinaryIO

import duckdb
import pyarrow as pa
from pyarrow import parquet as pq

from ledger.arrow.schema import TableSchema
from ledger.core.refusals import Reason
from ledger.errors import UnknownTableError
from ledger.reads.amounts import amount
from ledger.reads.port import Reads, TableRow
from ledger.snapshot.as_of import position_at, position_of_version
from ledger.snapshot.duckdb_query import sql_database
from ledger.snapshot.scan import Scan, installed
from ledger.snapshot.sql_text import (
    SCHEMA_PARTS,
    NamedTable,
    Query,
    QuerySyntaxError,
    TableName,
    condition,
    folded,
    read_query,
)
from ledger.snapshot.table_snapshot import TableSnapshot

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Parameters = Sequence[Any] | Mapping[str, Any]


class SqlResult:
    """The rows of a query, as of `position` of the log."""

    def __init__(self, rows: pa.Table, position: int) -> None:
        self.position = position
        self._rows = rows

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer, as Arrow has them."""
        return self._rows.schema

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self._rows

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a frame of pandas."""
        installed("pandas")
        return self._rows.to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows as a frame of polars."""
        polars: Any = installed("polars")
        found: pl.DataFrame = polars.from_arrow(self._rows)
        return found

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as a list of dicts."""
        found: list[dict[str, Any]] = self._rows.to_pylist()
        return found

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(self._rows.column_names)
        return f"<SqlResult of {amount(len(self), 'row')} at position {self.position}: {columns}>"

    def _repr_html_(self) -> str:
        from ledger.reads.html import table_of  # noqa: PLC0415 - for notebooks

        rows = [tuple(map(str, row.values())) for row in self._rows.slice(0, 20).to_pylist()]
        return table_of(repr(self)[1:-1], self._rows.column_names, rows)


class SqlPlace:
    """Where queries are answered: reads, a catalog of names, a position, and a time zone."""

    def __init__(self, reads: Reads, catalog: str, zone: str = "") -> None:
        self._reads = reads
        self._catalog = catalog
        self._zone = zone

    def query(
        self,
        query: str,
        parameters: Parameters | None = None,
        *,
        version: int | None = None,
        position: int | None = None,
        at: datetime | str | None = None,
    ) -> SqlResult:
        """Return the rows of a query, all tables as of one position."""
        with self.batches(query, parameters, version=version, position=position, at=at) as found:
            place, reader = found
            return SqlResult(reader.read_all(), place)

    @contextmanager
    def batches(
        self,
        query: str,
        parameters: Parameters | None = None,
        *,
        version: int | None = None,
        position: int | None = None,
        at: datetime | str | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatchReader]]:
        """Give the position of an answer and a reader of its rows, for a `with` block."""
        if sum(each is not None for each in (version, position, at)) > 1:
            raise ValueError("give version, position or at, not several of them")
        asked = read_query(query)
        rows = [self._row(table.name) for table in asked.tables]
        place = self._place(rows, version=version, position=position, at=at)
        scans = {
            name: self._scan(each, row, place)
            for name, (each, row) in loaded(asked.tables, rows).items()
        }
        with sql_database(self._zone) as database:
            for name, scan in scans.items():
                database.load(name, scan)
            try:
                found = database.ask(asked.text, parameters)
            except QuerySyntaxError as problem:
                raise misread(problem, asked, scans, parameters) from None
            yield place, found

    def _row(self, name: TableName) -> TableRow:
        """Return the table of a name, which may begin with its catalog."""
        found = self._reads.table_named(self._catalog, ".".join(name))
        if found is None and len(name) > 1:
            found = self._reads.table_named(name[0], ".".join(name[1:]))
        if found is None:
            meant = self._like(name)
            raise UnknownTableError(
                f"there is no table {'.'.join(name)}{f', did you mean {meant}?' if meant else ''}; "
                "ledger.tables() and lakeledger table list show all",
                reason=Reason.UNKNOWN_TABLE.value,
            )
        return found

    def _like(self, name: TableName) -> str:
        """Return the name of the table that is most like a name, "" if none is."""
        known = [table.name for table in self._reads.tables() if table.catalog == self._catalog]
        return next(iter(get_close_matches(".".join(name), known, n=1)), "")

    def _place(
        self,
        rows: Sequence[TableRow],
        *,
        version: int | None,
        position: int | None,
        at: datetime | str | None,
    ) -> int:
        """Return the position that a query is answered at."""
        if version is not None:
            if len(rows) != 1:
                raise ValueError(
                    f"a version is of one table, and the query names {len(rows)}; give position "
                    "or at"
                )
            return position_of_version(self._reads, rows[0].table, version)
        if at is not None:
            return max((position_at(self._reads, row, at) for row in rows), default=1)
        return self._reads.position() if position is None else position

    def _scan(self, named: NamedTable, row: TableRow, position: int) -> Scan:
        """Return what a query needs of a table; raises UnknownTableError before there was one."""
        if self._reads.definition(row.table, position) is None:
            raise UnknownTableError(
                f"table {row.name} did not exist at position {position}; it came at {row.created}",
                reason=Reason.UNKNOWN_TABLE.value,
                subject=row.table,
            )
        snapshot = TableSnapshot(self._reads, row, position, self._zone)
        columns = snapshot.schema.columns
        wanted = [
            column.name
            for column in columns
            if named.columns is None or column.name.lower() in named.columns
        ]
        types = {column.name.lower(): column.declared.lower() for column in columns}
        where = condition(named.comparisons, types)
        found = snapshot.read(where)
        first = next((column for column in columns if not column.problem), columns[0])
        # A count of rows needs no column, and DuckDB has no table without one.
        return Scan(snapshot, found, where, wanted or [first.name])


def to_parquet(rows: pa.RecordBatchReader, stream: BinaryIO) -> None:
    """Write rows as a Parquet file into a stream."""
    with pq.ParquetWriter(stream, rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)


def loaded(
    tables: Sequence[NamedTable], rows: Sequence[TableRow]
) -> Mapping[TableName, tuple[NamedTable, TableRow]]:
    """Return the tables by their schema and name in DuckDB; two names may mean one table.

    Raises QuerySyntaxError if two tables would have one name.
    """
    found: dict[TableName, tuple[NamedTable, TableRow]] = {}
    for named, row in zip(tables, rows, strict=True):
        name = tuple(map(folded, ("main", *named.name)[-SCHEMA_PARTS:]))
        known = found.get(name)
        if known is not None and known[1].table != row.table:
            raise QuerySyntaxError(
                f"the query names two tables {'.'.join(name)} of different catalogs; ask for them "
                "in two queries"
            )
        found[name] = named if known is None else named._replace(comparisons=()), row
    return found


def misread(
    problem: QuerySyntaxError, asked: Query, scans: Mapping[TableName, Scan], parameters: Any
) -> QuerySyntaxError:
    """Return the error of a query with all columns among the names that DuckDB proposes."""
    if not isinstance(problem.__cause__, duckdb.BinderException):
        return problem
    try:
        with sql_database("") as database:
            for name, scan in scans.items():
                columns = TableSchema.of(scan.table.definition).columns
                database.shape(name, [column.field for column in columns if not column.problem])
            database.ask(asked.text, parameters)
    except QuerySyntaxError as better:
        return better
    return problem
