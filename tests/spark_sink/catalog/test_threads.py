"""Threads of one Spark session that attach a ledger, write, read tables in a cache, and follow."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from ledger.testing import InMemoryLedger
from spark_sink import Lake, attach, transaction
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark

THREADS: Final = 16
PATIENCE_S: Final = 120.0
NAMES: Final = 4


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """Return what the threads found that began together."""
    begin = Barrier(THREADS)

    def begins(number: int) -> Any:
        begin.wait(PATIENCE_S)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begins, range(THREADS)))


def test_attached_by_every_thread(lake: Lake) -> None:
    """Each thread attaches the same ledger anew and uses it; no txn of another one is lost."""
    done(lake, "CREATE TABLE ledger.db.t (id INT, p INT) PARTITIONED BY (p)")

    def works(number: int) -> list[tuple[Any, ...]]:
        own = attach(lake.spark, lake.ledger)
        done(own, f"INSERT INTO ledger.db.t VALUES ({number}, {number})")
        with transaction(lake.spark):
            done(own, f"INSERT INTO ledger.db.t VALUES ({number + THREADS}, {number})")
            attach(lake.spark, lake.ledger)
            done(own, f"UPDATE ledger.db.t SET id = id + 100 WHERE p = {number}")
            return rows(own, f"SELECT id FROM ledger.db.t WHERE p = {number}")

    seen = at_once(works)

    assert seen == [
        sorted([(number + 100,), (number + THREADS + 100,)]) for number in range(THREADS)
    ]
    assert sorted(rows(lake, "SELECT id FROM ledger.db.t")) == [
        (number + 100,) for number in range(2 * THREADS)
    ]
    assert lake.ledger.table("db.t").version == 2 * THREADS


def test_catalogs_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """Threads attach ledgers under several names at once, and each name stays with its ledger."""
    with InMemoryLedger() as memory, InMemoryLedger() as other:
        ledgers = [
            each.connect(warehouse=str(tmp_path / str(number)))
            for number, each in enumerate((memory, other, memory, other))
        ]

        def works(number: int) -> int:
            name = f"threads{number % NAMES}"
            own = attach(spark, ledgers[number % NAMES], name)
            done(own, f"CREATE TABLE {name}.db.t{number} AS SELECT {number} AS id")
            found = rows(own, f"SELECT id FROM {name}.db.t{number}")
            return int(found[0][0])

        assert at_once(works) == list(range(THREADS))
        for kind, each in enumerate((memory, other)):
            names = {row.name for row in each.reads.tables()}
            assert names == {f"db.t{number}" for number in range(THREADS) if number % 2 == kind}


def test_threads_cache_tables_write_to_them_and_free_them(lake: Lake) -> None:
    for number in range(NAMES):
        done(lake, f"CREATE TABLE ledger.db.c{number} (id INT)")

    def works(number: int) -> None:
        table = f"ledger.db.c{number % NAMES}"
        done(lake, f"CACHE TABLE {table}", f"INSERT INTO {table} VALUES ({number})")
        assert {each for (each,) in rows(lake, f"SELECT id FROM {table}")} <= set(range(THREADS))
        if number % 3 == 0:
            done(lake, f"UNCACHE TABLE IF EXISTS {table}")

    at_once(works)

    for number in range(NAMES):
        done(lake, f"REFRESH TABLE ledger.db.c{number}")
        found = rows(lake, f"SELECT id FROM ledger.db.c{number}")
        assert sorted(found) == [(each,) for each in range(number, THREADS, NAMES)]
        done(lake, f"UNCACHE TABLE IF EXISTS ledger.db.c{number}")
