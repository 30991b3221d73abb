"""DuckLake with its default retries, its catalog in PostgreSQL or in a DuckDB file of its own.

A file belongs to one process, so the sessions of that form are threads with a cursor each.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb

from tests.consistency.operations import TABLES
from tests.consistency.subjects.duckdb_text import DuckDbSession
from tests.consistency.subjects.port import Job, Session
from tests.consistency.subjects.statements import insert_first

LACKS: Final = frozenset({"tokens"})
UNTRIED: Final = frozenset({"ReadAt", "Feed"})
STALE_READS: Final = False
EXTENSIONS: Final = ("ducklake", "postgres_scanner")
# Conflicts alone: a commit that failed for another reason may have come through.
REFUSALS: Final = re.compile(
    r"Transaction conflict|Conflict on (tuple|update)|Exceeded the maximum retry count"
)
COMPACT: Final = "CALL ducklake_merge_adjacent_files('lake', '{table}')"


def version() -> str:
    with duckdb.connect() as connection:
        load(connection)
        found = connection.execute(
            "SELECT extension_version FROM duckdb_extensions() WHERE extension_name = 'ducklake'"
        ).fetchone()
    return f"DuckLake {found[0] if found else '?'} on DuckDB {duckdb.__version__}"


def load(connection: Any) -> None:
    packages = Path(duckdb.__file__).parent.parent
    for name in EXTENSIONS:
        for file in packages.glob(f"duckdb_extension_{name}/**/*.duckdb_extension"):
            connection.execute(f"LOAD '{file}'")


@contextmanager
def attached(job: Job) -> Iterator[Any]:
    """Yield a connection with the lake attached."""
    Path(job["lake"]).mkdir(exist_ok=True)
    catalog = f"{job['lake']}/catalog.ducklake"
    if "port" in job:
        where = f"host=127.0.0.1 port={job['port']} user={job['user']}"
        catalog = f"postgres:dbname=postgres {where}"
    inlined = "" if job["inlines"] else ", DATA_INLINING_ROW_LIMIT 0"
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        load(connection)
        options = f"(DATA_PATH '{job['lake']}/data/'{inlined})"
        connection.execute(f"ATTACH 'ducklake:{catalog}' AS lake {options}")
        yield connection


@contextmanager
def shared(job: Job) -> Iterator[Any]:
    """Yield the connection that the threads of a process share."""
    if "port" in job:
        yield None
        return
    with attached(job) as connection:
        yield connection


def create(job: Job) -> None:
    with attached(job) as lake:
        for table in TABLES:
            lake.execute(f"CREATE TABLE lake.{table} (k BIGINT, n BIGINT, v VARCHAR)")
            if rows := insert_first(table, f"lake.{table}"):
                lake.execute(rows)


@contextmanager
def session(job: Job) -> Iterator[Session]:
    if job["shared"] is not None:
        with job["shared"].cursor() as cursor:
            yield DuckDbSession(cursor, place, REFUSALS, COMPACT)
        return
    with attached(job) as connection:
        yield DuckDbSession(connection, place, REFUSALS, COMPACT)


def place(table: str) -> str:
    return f"lake.{table}"
