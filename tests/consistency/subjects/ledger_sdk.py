"""LakeLedger by its Python SDK; with `reads` = "sql" queries are DuckDB's text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version as distribution_version
from typing import Any, Final

import pyarrow as pa

from ledger.client import Ledger
from ledger.errors import RefusedError as LedgerRefusal
from ledger.reads.port import TableRow
from ledger.transaction.transaction import Transaction
from tests.consistency.history import Result
from tests.consistency.operations import (
    READS,
    TABLES,
    Add,
    Append,
    Change,
    Claim,
    Compact,
    Delete,
    Feed,
    Insert,
    Operation,
    Read,
    ReadAt,
    Row,
    Transfer,
    Upsert,
    Write,
    first_rows,
    ordered,
)
from tests.consistency.subjects.port import Job, RefusedError, Session
from tests.consistency.subjects.statements import statement

LACKS: Final[frozenset[str]] = frozenset()
STALE_READS: Final = True
LEVEL: Final = {
    "serializable": "Serializable",
    "write-serializable": "WriteSerializable",
    "snapshot-isolation": "SnapshotIsolation",
}
COLUMNS: Final = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("v", pa.string())])


def version() -> str:
    return f"lakeledger {distribution_version('lakeledger')}"


def connect(job: Job) -> Ledger:
    return Ledger.connect(job["bootstrap"], job["ledger"], timeout_s=20.0, warehouse=job["lake"])


def create(job: Job) -> None:
    with connect(job) as ledger:
        create_in(ledger, job)


def create_in(ledger: Ledger, job: Job) -> None:
    """Make the tables at the level and grain of the job."""
    properties = {"delta.isolationLevel": LEVEL[job["level"]], **job.get("properties", {})}
    if job["grain"] == "rows":
        properties["lakeledger.rows"] = "marks"
    for table in TABLES:
        columns = [("k", "bigint"), ("n", "bigint"), ("v", "string")]
        ledger.create_table(f"lake.{table}", columns, properties=properties)
        if rows := first_rows(table):
            ledger.append(f"lake.{table}", arrow(rows))


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=COLUMNS)


@contextmanager
def session(job: Job) -> Iterator[Session]:
    with connect(job) as ledger:
        yield LedgerSession(ledger, by_sql=job.get("reads") == "sql")


class LedgerSession:
    """A client of the ledger."""

    def __init__(self, ledger: Ledger, *, by_sql: bool) -> None:
        self.place, self.read_from, self.token = 0, 0, ""
        self._ledger, self._by_sql = ledger, by_sql
        self._txn: Transaction | None = None

    def begin(self) -> None:
        self._txn = self._ledger.begin()
        self.read_from = self._txn.opened

    def do(self, operation: Operation) -> Result:
        assert self._txn is not None
        if isinstance(operation, Read):
            return ordered(plain(self._txn.scan(name(operation), where(operation)).to_arrow()))
        refusing(write, self._txn, operation)
        return None

    def alone(self, operation: Operation) -> Result:
        self._txn = None
        if isinstance(operation, READS):
            self.place = self.read_from = 0
            return self._read(operation)
        receipt = refusing(write, self._ledger, operation)
        self._note(receipt)
        return None

    def _read(self, operation: Operation) -> Result:
        match operation:
            case Feed(_, after):
                return list(changes(self._ledger, name(operation), after))
            case Read(_, _) if self._by_sql:
                answer = self._ledger.sql(statement(operation, name(operation)))
                return ordered(plain(answer.to_arrow()))
            case ReadAt(_, place) if self._by_sql:
                text = f"SELECT k, n, v FROM {name(operation)}"
                return ordered(plain(self._ledger.sql(text, position=place).to_arrow()))
            case ReadAt(_, place):
                return ordered(plain(self._ledger.scan(name(operation), position=place).to_arrow()))
            case _:
                found = self._ledger.scan(name(operation), where(operation))
                return ordered(plain(found.to_arrow()))

    def commit(self) -> None:
        assert self._txn is not None
        self._note(refusing(self._txn.commit))

    def abort(self) -> None:
        if self._txn is not None:
            self._txn.abort()

    def wait_for(self, token: str) -> None:
        self._ledger.wait(token)

    def _note(self, receipt: Any) -> None:
        self.place, self.token = receipt.position, str(receipt.token)


def name(operation: Operation) -> str:
    return f"lake.{operation.table}"


def where(operation: Operation) -> str | None:
    key = getattr(operation, "key", None)
    return None if key is None else f"k = {key}"


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["k"], row["n"], row["v"]) for row in table.to_pylist()]


def refusing(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call; what the ledger refuses is refused."""
    try:
        return call(*arguments)
    except LedgerRefusal as refusal:
        raise RefusedError(f"{type(refusal).__name__}: {refusal}") from refusal


def write(verbs: Ledger | Transaction, operation: Operation) -> Any:
    """Carry out a statement by the verbs of a client or of a txn; both have the same."""
    table, condition = name(operation), where(operation)
    match operation:
        case Append(_, _, value):
            return verbs.update(table, {"v": f"concat(v, ',{value}')"}, condition)
        case Upsert(_, key, value):
            lists = {"v": "concat(target.v, ',', source.v)"}
            return merge(verbs, table, Row(key, 0, str(value)), when_matched_update=lists)
        case Claim(_, key, value):
            return merge(verbs, table, Row(key, value, ""))
        case Insert(_, key, value):
            rows = arrow([Row(key, value, "")])
            is_txn = isinstance(verbs, Transaction)
            return verbs.insert(table, rows) if is_txn else verbs.append(table, rows)  # type: ignore[union-attr]
        case Write(_, _, value):
            return verbs.update(table, {"n": value}, condition)
        case Add(_, _, amount):
            return verbs.update(table, {"n": f"n + ({amount})"}, condition)
        case Transfer(_, source, target, amount):
            moved = f"CASE WHEN k = {source} THEN n - {amount} ELSE n + {amount} END"
            return verbs.update(table, {"n": moved}, f"k IN ({source}, {target})")
        case Delete(_, _):
            return verbs.delete(table, condition)
        case Compact(_):
            return verbs.optimize(table)
        case _:
            message = f"{operation} is no statement"
            raise ValueError(message)


def merge(verbs: Ledger | Transaction, table: str, row: Row, **clauses: Any) -> Any:
    on = "target.k = source.k"
    return verbs.merge(table, arrow([row]), on, when_not_matched_insert=True, **clauses)


def changes(ledger: Ledger, table: str | TableRow, after: int = 0) -> Iterator[Change]:
    """Yield the commits of a table behind a position, with the rows that they added and removed."""
    for commit in ledger.changes(table, position=after or None):
        rows = commit.rows().to_pylist()
        added = [row for row in rows if row["_change_type"] in ("insert", "update_postimage")]
        removed = [row for row in rows if row["_change_type"] in ("delete", "update_preimage")]
        yield Change(
            commit.position,
            ordered([(row["k"], row["n"], row["v"]) for row in added]),
            ordered([(row["k"], row["n"], row["v"]) for row in removed]),
        )
