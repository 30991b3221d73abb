"""LakeLedger by its Python SDK.

Changes and reads within a txn are verbs of the SDK. With `reads` = "sql" lone reads are DuckDB's
text in `ledger.sql`. With `reads` = "http" all reads go to the follower's HTTP.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version as distribution_version
from typing import Any, Final

import pyarrow as pa

from ledger.client import Ledger
from ledger.errors import RefusedError as LedgerRefusal
from ledger.reads.remote.http import HttpReads
from ledger.transaction.transaction import Transaction
from tests.consistency.history import Result
from tests.consistency.operations import (
    READS,
    TABLES,
    Feed,
    Operation,
    Read,
    ReadAt,
    first_rows,
    ordered,
)
from tests.consistency.subjects.ledger_verbs import arrow, changes, name, where, write
from tests.consistency.subjects.port import Job, RefusedError, Session
from tests.consistency.subjects.statements import statement

LACKS: Final[frozenset[str]] = frozenset()
UNTRIED: Final[frozenset[str]] = frozenset()
STALE_READS: Final = True
LEVEL: Final = {
    "serializable": "Serializable",
    "write-serializable": "WriteSerializable",
    "snapshot-isolation": "SnapshotIsolation",
}
PUBLISH: Final = {"lakeledger.publish": "delta"}


def version() -> str:
    return f"lakeledger {distribution_version('lakeledger')}"


def connect(job: Job) -> Ledger:
    reads = HttpReads(job["reads_url"]) if job.get("reads") == "http" else None
    return Ledger.connect(
        job["bootstrap"], job["ledger"], timeout_s=20.0, warehouse=job["lake"], reads=reads
    )


def create(job: Job) -> None:
    with connect(job) as ledger:
        create_in(ledger, job)


def create_in(ledger: Ledger, job: Job) -> None:
    """Make the tables at the level and grain of the job; those in `published` have a Delta log."""
    properties = {"delta.isolationLevel": LEVEL[job["level"]]}
    if job["grain"] == "rows":
        properties["lakeledger.rows"] = "marks"
    for table in TABLES:
        columns = [("k", "bigint"), ("n", "bigint"), ("v", "string")]
        more = PUBLISH if table in job.get("published", ()) else {}
        ledger.create_table(f"lake.{table}", columns, properties={**properties, **more})
        if rows := first_rows(table):
            ledger.append(f"lake.{table}", arrow(rows))


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


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["k"], row["n"], row["v"]) for row in table.to_pylist()]


def refusing(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call; what the ledger refuses is refused."""
    try:
        return call(*arguments)
    except LedgerRefusal as refusal:
        raise RefusedError(f"{type(refusal).__name__}: {refusal}") from refusal
