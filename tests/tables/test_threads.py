"""Threads of one program that share a client, and a signal that comes while they wait."""

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.expressions.duckdb import evaluation
from tests.tables.test_sql import rows

THREADS = 16
ROUNDS = 4
SIGNAL_S = 5.0
ENDLESS = "SELECT a.range FROM range(100000000) a, range(1000) b WHERE a.range + b.range = 7"


def test_sixteen_threads_ask_scan_and_write_at_once(ledger: Ledger, tmp_path: Path) -> None:
    ledger.create_table("db.t", [{"id": each} for each in range(10)], location=str(tmp_path / "t"))
    ledger.create_table(
        "db.own", [("thread", "int"), ("round", "int")], location=str(tmp_path / "o")
    )
    for each in range(5):
        ledger.append("db.t", [{"id": 10 + each}])
    evaluation.close_database()
    begin = threading.Barrier(THREADS)

    def asks(number: int, at: int) -> None:
        version = (number + at) % 6
        want = 10 + version
        found = rows(ledger, "SELECT count(*), max(id) FROM db.t WHERE id >= 0", version=version)
        assert found == [(want, want - 1)]

    def scans(number: int, at: int) -> None:
        version = (number + at) % 6
        assert ledger.scan("db.t", "id % 2 = 0", version=version).count() == (11 + version) // 2

    def writes(number: int, at: int) -> None:
        ledger.append("db.own", [{"thread": number, "round": at}])
        with ledger.transaction() as txn:
            txn.insert("db.own", [{"thread": number, "round": 10 + at}])

    def plays(number: int) -> None:
        work: Callable[[int, int], None] = (asks, scans, asks, writes)[number % 4]
        begin.wait()
        for at in range(ROUNDS):
            work(number, at)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(plays, range(THREADS)))

    count = "SELECT count(*), count(DISTINCT (thread, round)) FROM db.own"
    assert rows(ledger, count) == [(2 * ROUNDS * THREADS // 4,) * 2]


@pytest.mark.parametrize("query", [ENDLESS, ENDLESS.replace("a.range FROM", "count(*) FROM")])
def test_an_interrupt_ends_a_query(ledger: Ledger, query: str) -> None:
    ledger.sql("SELECT 1")
    struck: list[float] = []

    def strike() -> None:
        struck.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, strike)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ledger.sql(query)
    timer.join()
    assert time.monotonic() - struck[0] < SIGNAL_S
