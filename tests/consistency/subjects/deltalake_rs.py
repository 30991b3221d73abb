"""deltalake (delta-rs) with its default retries; a txn is one operation on one table."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import deltalake
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from tests.consistency.history import Result
from tests.consistency.operations import (
    TABLES,
    Add,
    Append,
    Claim,
    Compact,
    Delete,
    Insert,
    Operation,
    Read,
    Row,
    Transfer,
    Upsert,
    first_rows,
    ordered,
)
from tests.consistency.subjects.port import Job, RefusedError, Session

LACKS: Final = frozenset({"transactions", "several tables", "tokens"})
UNTRIED: Final = frozenset({"ReadAt", "Feed"})
STALE_READS: Final = False
COLUMNS: Final = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("v", pa.string())])


def version() -> str:
    return f"deltalake {deltalake.__version__}"


def create(job: Job) -> None:
    for table in TABLES:
        write_deltalake(f"{job['lake']}/{table}", arrow(*first_rows(table)))


def arrow(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=COLUMNS)


@contextmanager
def session(job: Job) -> Iterator[Session]:
    yield DeltaSession(job["lake"])


class DeltaSession:
    """Tables of a folder, opened anew for each operation, so that each sees the newest version."""

    def __init__(self, lake: str) -> None:
        self.place, self.read_from, self.token = 0, 0, ""
        self._lake = lake

    def alone(self, operation: Operation) -> Result:
        path = f"{self._lake}/{operation.table}"
        if isinstance(operation, Read):
            table = DeltaTable(path)
            filters = None if operation.key is None else [("k", "=", operation.key)]
            rows = table.to_pyarrow_table(filters=filters).to_pylist()
            return ordered([(row["k"], row["n"], row["v"]) for row in rows])
        try:
            write(path, operation)
        except CommitFailedError as error:
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


def write(path: str, operation: Operation) -> Any:
    """Carry out a statement on the newest version of a table."""
    if isinstance(operation, Insert):
        return write_deltalake(path, arrow(Row(operation.key, operation.value, "")), mode="append")
    table = DeltaTable(path)
    match operation:
        case Append(_, key, value):
            return table.update(updates={"v": f"v || ',{value}'"}, predicate=f"k = {key}")
        case Add(_, key, amount):
            return table.update(updates={"n": f"n + ({amount})"}, predicate=f"k = {key}")
        case Transfer(_, source, target, amount):
            moved = f"CASE WHEN k = {source} THEN n - {amount} ELSE n + {amount} END"
            return table.update(updates={"n": moved}, predicate=f"k = {source} OR k = {target}")
        case Upsert(_, key, value):
            merge = merging(table, Row(key, 0, str(value)))
            appended = {"v": "t.v || ',' || s.v"}
            return merge.when_matched_update(appended).when_not_matched_insert_all().execute()
        case Claim(_, key, value):
            return merging(table, Row(key, value, "")).when_not_matched_insert_all().execute()
        case Delete(_, key):
            return table.delete(f"k = {key}")
        case Compact(_):
            return table.optimize.compact()
        case _:
            message = f"{operation} is no statement of deltalake"
            raise ValueError(message)


def merging(table: DeltaTable, row: Row) -> Any:
    return table.merge(
        arrow(row),
        predicate="t.k = s.k",
        source_alias="s",
        target_alias="t",
        commit_properties=CommitProperties(),
    )
