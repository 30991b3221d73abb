"""LakeLedger by its Iceberg REST catalog, with DuckDB as an unchanged client."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.consistency.subjects import ledger_sdk
from tests.consistency.subjects.duckdb_text import DuckDbSession
from tests.consistency.subjects.port import Job, Session
from tests.iceberg.clients.duckdb_client import attach, with_extensions

# DuckDB has no compaction and no change feed of Iceberg tables, and the protocol no tokens.
LACKS: Final = frozenset({"Compact", "Feed", "tokens"})
UNTRIED: Final = frozenset({"ReadAt"})
STALE_READS: Final = True
# The catalog reads at the rows of its host, which may be behind for any request.
# The words of the answer, not its number alone, which a port may have.
REFUSALS: Final = re.compile(r"\(Conflict_409\)|\btype: CommitFailedException\b")


def version() -> str:
    return ledger_sdk.version()


def create(job: Job) -> None:
    ledger_sdk.create(job)


@contextmanager
def session(job: Job) -> Iterator[Session]:
    with with_extensions() as connection:
        attach(connection, job["iceberg"])
        yield DuckDbSession(connection, place, REFUSALS)


def place(table: str) -> str:
    return f"lake.lake.{table}"
