"""DuckLake: inserts of one row into one table, its catalog in PostgreSQL.

Conflicting commits are retried so often that none is given up. `inlined` rows stay in the catalog,
otherwise each insert writes one Parquet file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
import psycopg

from tests.benchmarks.peers import crew

EXTENSIONS: Final = ("ducklake", "postgres_scanner")
RETRIES: Final = 200
INLINED_ROWS: Final = 10
DATABASE: Final = "lake"


def address(job: crew.Job, database: str) -> str:
    return f"dbname={database} host=127.0.0.1 port={job['port']} user={job['user']}"


def create(job: crew.Job) -> None:
    """Make a new catalog with one table."""
    with psycopg.connect(address(job, "postgres"), autocommit=True) as connection:
        connection.execute(f"drop database if exists {DATABASE}")
        connection.execute(f"create database {DATABASE}")
    with attached(job) as lake:
        lake.execute("create table lake.t (id bigint, region varchar)")


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that inserts a row."""
    with attached(job) as lake:
        yield lambda number: lake.execute("insert into lake.t values (?, 'eu')", [number])


@contextmanager
def attached(job: crew.Job) -> Iterator[Any]:
    """Yield a connection with the lake attached."""
    packages = Path(duckdb.__file__).parent.parent
    with duckdb.connect() as connection:
        for name in EXTENSIONS:
            (file,) = packages.glob(f"duckdb_extension_{name}/**/*.duckdb_extension")
            connection.execute(f"load '{file}'")
        connection.execute(f"set threads = {job.get('threads', 1)}")
        connection.execute(f"set ducklake_max_retry_count = {RETRIES}")
        rows = INLINED_ROWS if job["inlined"] else 0
        connection.execute(
            f"attach 'ducklake:postgres:{address(job, DATABASE)}' as lake "
            f"(data_path '{job['path']}/', data_inlining_row_limit {rows})"
        )
        yield connection


if __name__ == "__main__":
    crew.main(session, create=create)
