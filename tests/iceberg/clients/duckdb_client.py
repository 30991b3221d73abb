"""DuckDB as a client of an Iceberg catalog; its extensions come as packages."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import duckdb

EXTENSIONS: Final = ("httpfs", "avro", "iceberg", "delta")


def with_extensions() -> duckdb.DuckDBPyConnection:
    """Return a DuckDB of its own that reads Iceberg and Delta; the caller closes it."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in EXTENSIONS:
        folder = Path(str(import_module(f"duckdb_extension_{name}").__file__)).parent
        connection.execute(f"LOAD '{next(folder.rglob('*.duckdb_extension'))}'")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET threads = 1")
    return connection


def attach(connection: Any, uri: str, name: str = "lake", warehouse: str = "main") -> None:
    """Attach a catalog under a name; `warehouse` may end with `@POSITION`."""
    connection.execute(
        f"ATTACH '{warehouse}' AS {name} "
        f"(TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')"
    )


@contextmanager
def attached(uri: str, warehouse: str = "main") -> Iterator[Any]:
    """Yield a connection with a catalog attached as `lake`."""
    with with_extensions() as connection:
        attach(connection, uri, warehouse=warehouse)
        yield connection
