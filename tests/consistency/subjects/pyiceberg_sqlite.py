"""pyiceberg with its catalog in SQLite; a txn is one operation on one table.

The library has no UPDATE by an expression: an append to a list reads the row and puts another one
in its place by `overwrite`, through the one table that was loaded for the read.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.table import Table

from tests.consistency.history import Result
from tests.consistency.operations import (
    TABLES,
    Add,
    Append,
    Claim,
    Delete,
    Insert,
    Operation,
    Read,
    Row,
    Transfer,
    first_rows,
    ordered,
)
from tests.consistency.subjects.port import Job, RefusedError, Session

# `upsert` replaces values and knows no expression. A txn of the library has one table.
LACKS: Final = frozenset({"several tables", "Upsert", "Compact", "Feed", "tokens"})
UNTRIED: Final = frozenset({"transactions", "ReadAt"})
STALE_READS: Final = False
COLUMNS: Final = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("v", pa.string())])


def version() -> str:
    return f"pyiceberg {distribution_version('pyiceberg')} on SQLite"


def catalog(job: Job) -> Catalog:
    logging.disable(logging.CRITICAL)
    Path(job["lake"]).mkdir(exist_ok=True)
    uri = f"sqlite:///{job['lake']}/catalog.db"
    return load_catalog("lake", type="sql", uri=uri, warehouse=f"file://{job['lake']}/files")


def create(job: Job) -> None:
    found = catalog(job)
    found.create_namespace("lake")
    for name in TABLES:
        table = found.create_table(f"lake.{name}", COLUMNS)
        if rows := first_rows(name):
            table.append(arrow(*rows))


def arrow(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=COLUMNS)


@contextmanager
def session(job: Job) -> Iterator[Session]:
    yield IcebergSession(catalog(job))


class IcebergSession:
    """A catalog whose tables are loaded anew for each operation."""

    def __init__(self, found: Catalog) -> None:
        self.place, self.read_from, self.token = 0, 0, ""
        self._catalog = found

    def alone(self, operation: Operation) -> Result:
        table = self._catalog.load_table(f"lake.{operation.table}")
        if isinstance(operation, Read):
            return rows_of(table, *(() if operation.key is None else (operation.key,)))
        try:
            write(table, operation)
        except (CommitFailedException, ValidationException) as error:
            raise RefusedError(str(error)) from error
        return None

    def begin(self) -> None:
        raise NotImplementedError

    def do(self, operation: Operation) -> Result:
        raise NotImplementedError(operation)

    def commit(self) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        """There is no txn to end."""

    def wait_for(self, token: str) -> None:
        raise NotImplementedError(token)


def rows_of(table: Table, *keys: int) -> list[Row]:
    scan = table.scan(f"k IN ({', '.join(map(str, keys))})") if keys else table.scan()
    return ordered([(row["k"], row["n"], row["v"]) for row in scan.to_arrow().to_pylist()])


def write(table: Table, operation: Operation) -> None:
    """Carry out a statement on a loaded table."""
    match operation:
        case Insert(_, key, value):
            table.append(arrow(Row(key, value, "")))
        case Claim(_, key, value):
            table.upsert(arrow(Row(key, value, "")), ["k"], when_matched_update_all=False)
        case Delete(_, key):
            table.delete(f"k = {key}")
        case Append(_, key, value):
            rows = [row._replace(v=f"{row.v},{value}") for row in rows_of(table, key)]
            table.overwrite(arrow(*rows), f"k = {key}")
        case Add(_, key, amount):
            rows = [row._replace(n=row.n + amount) for row in rows_of(table, key)]
            table.overwrite(arrow(*rows), f"k = {key}")
        case Transfer(_, source, target, amount):
            moved = {source: -amount, target: amount}
            rows = [row._replace(n=row.n + moved[row.k]) for row in rows_of(table, source, target)]
            table.overwrite(arrow(*rows), f"k IN ({source}, {target})")
        case _:
            message = f"{operation} is no statement of pyiceberg"
            raise ValueError(message)
