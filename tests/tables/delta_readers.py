"""Other readers of published tables: each returns the rows of one version as Arrow."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

Reader = Callable[[str, int], pa.Table]


def by_deltalake(folder: str, version: int) -> pa.Table:
    """Return the rows of a version as deltalake reads them by SQL."""
    table = DeltaTable(folder, version=version)
    found = QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
    return pa.table(found)


def by_polars(folder: str, version: int) -> pa.Table:
    """Return the rows of a version as Polars reads them."""
    return pl.read_delta(folder, version=version).to_arrow()


def by_duckdb(folder: str, version: int) -> pa.Table:
    """Return the rows of a version as DuckDB's Delta extension reads them."""
    found = with_delta().execute("SELECT * FROM delta_scan(?, version = ?)", [folder, version])
    return found.to_arrow_table()


@cache
def with_delta() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with its Delta extension, which a package brings."""
    package = pytest.importorskip("duckdb_extension_delta", reason="DuckDB's Delta is not here")
    found = next(Path(package.__file__).parent.rglob("*.duckdb_extension"))
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{found}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


READERS: Final[Mapping[str, Reader]] = {
    "deltalake": by_deltalake,
    "polars": by_polars,
    "duckdb": by_duckdb,
}


def texts(table: pa.Table, schema: pa.Schema) -> list[str]:
    """Return rows as texts in order, once they have the names and types of a schema."""
    assert table.schema.names == schema.names
    return sorted(map(repr, table.cast(schema).to_pylist()))


def partitions(folder: str, version: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the files of a version with their partition values as deltalake has them."""
    table = DeltaTable(folder, version=version)
    names = table.metadata().partition_columns
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return sorted(
        (action["path"], tuple(action[f"partition.{name}"] for name in names)) for action in actions
    )
