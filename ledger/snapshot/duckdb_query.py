"""The DuckDB that answers one query: its tables, its settings, and the thread that runs it."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Thread
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar

import duckdb
import pyarrow as pa

from ledger.core.refusals import Reason
from ledger.errors import LimitExceededError
from ledger.expressions.duckdb.terms import identifier, string
from ledger.reads.amounts import shown_size
from ledger.snapshot.scan import Scan
from ledger.snapshot.sql_text import QuerySyntaxError, TableName, shown

T = TypeVar("T")

# Nothing but the named tables is read, and nothing is written.
SETTINGS: Final = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
OWN_SCHEMAS: Final = frozenset({"information_schema", "memory", "pg_catalog", "system", "temp"})
"""Schemas and databases that DuckDB has itself."""

LOOK_S: Final = 0.5
"""A signal that comes just before a wait is noticed after it, so no wait is longer."""

STOPS: Final = 20
STOP_S: Final = 0.05
"""A query that is left is interrupted so often, since it may begin between two of them."""


class SqlLimits(NamedTuple):
    """The bounds of a query: its time, DuckDB's memory, and the bytes of the files it reads."""

    seconds: float
    memory_bytes: int
    file_bytes: int

    def check_bytes(self, size: int) -> None:
        """Raise LimitExceededError for a query that reads more."""
        if size > self.file_bytes:
            raise limit_exceeded(
                f"a query here reads files of at most {shown_size(self.file_bytes)}, this one of "
                f"{shown_size(size)}: narrow it by partition columns"
            )


class SqlDatabase:
    """An empty DuckDB that reads no variables of Python.

    Its work runs in other threads: only so a signal reaches the program while DuckDB works. With
    `seconds` it ends after so long.
    """

    def __init__(self, connection: Any, seconds: float | None = None) -> None:
        self._connection = connection
        self._seconds = seconds
        self._until_s = None if seconds is None else monotonic() + seconds
        self._is_stuck = False
        self._is_locked = False

    def close(self) -> None:
        """Close the database, unless its work does not heed an interrupt."""
        if not self._is_stuck:
            self._connection.close()

    def load(self, name: TableName, scan: Scan) -> None:
        """Make a table with the rows of a scan; `name` is its schema and its name."""
        failures: list[BaseException] = []

        def batches() -> Iterator[Any]:
            try:
                yield from scan.to_batches()
            except BaseException as problem:
                failures.append(problem)
                raise

        rows = pa.RecordBatchReader.from_batches(scan.schema, batches())
        try:
            self._waited(lambda: self._fill(name, rows))
        except duckdb.Error:
            # DuckDB says only that a reader failed.
            if failures:
                raise failures[0] from None
            raise

    def shape(self, name: TableName, columns: Sequence[pa.Field]) -> None:
        """Make a table without rows."""
        self._fill(name, pa.schema(columns).empty_table())

    def view(self, name: TableName, query: str) -> None:
        """Make a view; the tables and views that its query names are there.

        From here on nothing else is read: DuckDB looks at the sources of a view when it is made.
        """
        self._lock()
        schema, view = map(identifier, name)
        self._waited(lambda: self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}"))
        self._waited(
            lambda: self._connection.execute(f"CREATE VIEW {schema}.{view} AS {query}"), query
        )

    def ask(self, query: str, parameters: Any) -> pa.RecordBatchReader:
        """Return a reader of the rows of a query; from here on nothing else is read."""
        self._lock()
        found = self._waited(
            lambda: self._connection.execute(query, parameters).to_arrow_reader(), query
        )

        def batches() -> Iterator[pa.RecordBatch]:
            while (batch := self._waited(lambda: next(found, None), query)) is not None:
                yield batch

        return pa.RecordBatchReader.from_batches(found.schema, batches())

    def _lock(self) -> None:
        if not self._is_locked:
            for setting in SETTINGS:
                self._connection.execute(setting)
        self._is_locked = True

    def _fill(self, name: TableName, rows: Any) -> None:
        if name[0] in OWN_SCHEMAS:
            raise QuerySyntaxError(
                f"a query must name tables outside of DuckDB's own schemas, got {'.'.join(name)}: "
                "read it with scan"
            )
        schema, table = map(identifier, name)
        self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        # DuckDB reads a reader in Arrow's few threads for files, and a scan within would wait for
        # them. It reads a bare stream in its own threads.
        self._connection.register("lakeledger_rows", rows.__arrow_c_stream__())
        try:
            self._connection.execute(
                f"CREATE TABLE {schema}.{table} AS SELECT * FROM lakeledger_rows"  # noqa: S608
            )
        finally:
            self._connection.unregister("lakeledger_rows")

    def _waited(self, work: Callable[[], T], query: str = "") -> T:
        """Return what work in another thread gives; a failure names the query."""
        running: Future[T] = Future()
        Thread(target=settle, args=(running, work), name="lakeledger-sql", daemon=True).start()
        try:
            while not running.done():
                left_s = LOOK_S if self._until_s is None else self._until_s - monotonic()
                if left_s <= 0:
                    raise limit_exceeded(f"a query here takes at most {self._seconds:g} s")
                wait([running], min(left_s, LOOK_S))
            return running.result()
        except duckdb.OutOfMemoryException as problem:
            # The other lines advise settings that a user of the query cannot change.
            said, *_ = str(problem).splitlines()
            raise limit_exceeded(f"the query needs more memory than it may take: {said}") from None
        except duckdb.Error as problem:
            if not query:
                raise
            raise QuerySyntaxError(f"DuckDB cannot answer {shown(query)}: {problem}") from problem
        finally:
            self._stop(running)

    def _stop(self, running: Future[Any]) -> None:
        for _ in range(STOPS):
            if running.done():
                return
            self._connection.interrupt()
            wait([running], STOP_S)
        self._is_stuck = not running.done()


def settle(running: Future[T], work: Callable[[], T]) -> None:
    """Do work and tell its end."""
    try:
        running.set_result(work())
    except BaseException as problem:  # noqa: BLE001 - raised by the thread that waits
        running.set_exception(problem)


def limit_exceeded(text: str) -> LimitExceededError:
    """Return the error of a query beyond its bounds."""
    return LimitExceededError(text, reason=Reason.LIMIT_EXCEEDED.value)


@contextmanager
def sql_database(zone: str, limits: SqlLimits | None = None) -> Iterator[SqlDatabase]:
    """Give a database of its own for one query.

    It keeps on disk what memory cannot hold. With `limits` it writes nothing to the disk.
    """
    with tempfile.TemporaryDirectory(prefix="lakeledger-sql-") as folder:
        config: dict[str, Any] = {"python_enable_replacements": "false", "temp_directory": folder}
        if limits is not None:
            bounds = {"memory_limit": f"{limits.memory_bytes}B", "threads": "1"}
            config |= bounds | {"temp_directory": ""}
        connection = duckdb.connect(":memory:", config=config)
        database = SqlDatabase(connection, None if limits is None else limits.seconds)
        try:
            connection.execute(f"SET TimeZone = {string(zone or 'UTC')}")
            yield database
        finally:
            database.close()
