"""SQL over tables of a ledger: DuckDB in this process, over one position of the log.

The tables that a query names are read with what the query needs of them, and handed to DuckDB under
the names that the query has for them. DuckDB keeps on disk what memory cannot hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import duckdb
import pyarrow as pa
from pyarrow import parquet as pq

from ledger.arrow.schema import TableSchema
from ledger.core.refusals import Reason
from ledger.definitions.views import is_view, view_text
from ledger.errors import UnknownTableError
from ledger.reads.amounts import amount
from ledger.reads.port import Reads, TableRow
from ledger.snapshot.as_of import position_at, position_of_version
from ledger.snapshot.duckdb_query import SqlLimits, sql_database
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
from ledger.snapshot.view_queries import text_for

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
    """Where queries are answered: reads, a catalog of names, and a time zone.

    With `limits` a query reads named tables alone, also in views, and raises LimitExceededError
    beyond them.
    """

    def __init__(
        self, reads: Reads, catalog: str, zone: str = "", *, limits: SqlLimits | None = None
    ) -> None:
        self._reads = reads
        self._catalog = catalog
        self._zone = zone
        self._limits = limits

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
        asked = self._read(query)
        now = self._resolve(asked)
        place = self._place(now.rows, version=version, position=position, at=at)
        known = self._resolve(asked, place) if now.views else now
        scans = {
            name: self._scan(each, row, place)
            for name, (each, row) in loaded(known.tables, known.rows).items()
        }
        if self._limits is not None:
            size = sum(file.size for scan in scans.values() for file in scan.files)
            self._limits.check_bytes(size)
        with sql_database(self._zone, self._limits) as database:
            for name, scan in scans.items():
                database.load(name, scan)
            for name, text in known.views.items():
                database.view(name, text)
            try:
                found = database.ask(asked.text, parameters)
            except QuerySyntaxError as problem:
                raise misread(problem, asked, scans, parameters, self._limits) from None
            yield place, found

    def shape(self, query: str, name: str = "") -> pa.Schema:
        """Return the columns of the answer to a query, without reading rows.

        `name` is the view that the query is for. Raises as `query`, and QuerySyntaxError if the
        query reads that view.
        """
        asked = read_query(query)
        known = self._resolve(asked, around=(name.lower(),) if name else ())
        with sql_database(self._zone) as database:
            for table, (_, row) in loaded(known.tables, known.rows).items():
                database.shape(table, TableSchema.of(row.definition).readable)
            for view, text in known.views.items():
                database.view(view, text)
            return database.ask(f"FROM ({asked.text}) LIMIT 0", None).schema

    def _read(self, query: str) -> Query:
        return read_query(query, of_tables_alone=self._limits is not None)

    def _resolve(
        self, asked: Query, position: int | None = None, around: tuple[str, ...] = ()
    ) -> "Resolved":
        """Return what a query names, in the views of a position or of now; `around` are views."""
        found = Resolved([], [], {})
        for named in asked.tables:
            row = self._row(named.name)
            definition = self._reads.definition(row.table, position) or row.definition
            if not is_view(definition):
                found.tables.append(named)
                found.rows.append(row)
                continue
            key = row.name.lower()
            if key in around:
                raise QuerySyntaxError(
                    f"view {row.name} reads itself, by way of {', '.join(around)}: create one of "
                    "them anew"
                )
            text = text_for(row.name, view_text(definition), "duckdb", row.catalog)
            inner = self._read(text)
            below = self._resolve(inner, position, (*around, key))
            found.tables.extend(each._replace(comparisons=()) for each in below.tables)
            found.rows.extend(below.rows)
            found.views.update(below.views)
            found.views[database_name(named.name)] = inner.text
        return found

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


class Resolved(NamedTuple):
    """The tables of a query and their rows, in one order, and the queries of its views.

    The views come after the views that they read.
    """

    tables: list[NamedTable]
    rows: list[TableRow]
    views: dict[TableName, str]


def database_name(name: TableName) -> TableName:
    """Return the schema and the name that a table has in DuckDB."""
    return tuple(map(folded, ("main", *name)[-SCHEMA_PARTS:]))


def loaded(
    tables: Sequence[NamedTable], rows: Sequence[TableRow]
) -> Mapping[TableName, tuple[NamedTable, TableRow]]:
    """Return the tables by their schema and name in DuckDB; two names may mean one table.

    Raises QuerySyntaxError if two tables would have one name.
    """
    found: dict[TableName, tuple[NamedTable, TableRow]] = {}
    for named, row in zip(tables, rows, strict=True):
        name = database_name(named.name)
        known = found.get(name)
        if known is not None and known[1].table != row.table:
            raise QuerySyntaxError(
                f"the query names two tables {'.'.join(name)} of different catalogs; ask for them "
                "in two queries"
            )
        found[name] = named if known is None else in_both(known[0], named), row
    return found


def in_both(first: NamedTable, second: NamedTable) -> NamedTable:
    """Return what two queries need of one table."""
    columns = None
    if first.columns is not None and second.columns is not None:
        columns = first.columns | second.columns
    return NamedTable(first.name, columns, ())


def misread(
    problem: QuerySyntaxError,
    asked: Query,
    scans: Mapping[TableName, Scan],
    parameters: Any,
    limits: SqlLimits | None,
) -> QuerySyntaxError:
    """Return the error of a query with all columns among the names that DuckDB proposes."""
    if not isinstance(problem.__cause__, duckdb.BinderException):
        return problem
    try:
        with sql_database("", limits) as database:
            for name, scan in scans.items():
                database.shape(name, TableSchema.of(scan.table.definition).readable)
            database.ask(asked.text, parameters)
    except QuerySyntaxError as better:
        return better
    return problem
