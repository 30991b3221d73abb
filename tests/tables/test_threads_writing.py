"""Threads of one program that write rows, follow changes, and open clients: as one by one."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.expressions.duckdb import evaluation
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction

THREADS = 16
ROUNDS = 3
# Each commit of another thread costs all the others an attempt.
ATTEMPTS, DEADLINE_S = 1_000, 300.0
SHARED = 2 * THREADS

Verb = Callable[..., object]


def adds(txn: Transaction, table: str, key: int) -> object:
    """Add a row of this thread, and one to be deleted."""
    return txn.insert(table, [{"id": key, "v": 0}, {"id": key + THREADS, "v": 0}])


def updates(txn: Transaction, table: str, key: int) -> object:
    """Change the row that all threads change, and that of this thread."""
    return txn.update(table, {"v": f"v + {key + 1}"}, f"id = {key} OR id = {SHARED}")


def deletes(txn: Transaction, table: str, key: int) -> object:
    return txn.delete(table, f"id = {key + THREADS}")


def merges(txn: Transaction, table: str, key: int) -> object:
    """Change the row that all threads change, and add one."""
    source = [{"id": SHARED, "v": 100}, {"id": key + THREADS, "v": 7}]
    return txn.merge(
        table,
        source,
        "target.id = source.id",
        when_matched_update={"v": "target.v + source.v"},
        when_not_matched_insert=True,
    )


VERBS: tuple[Verb, ...] = (adds, updates, deletes, merges)


def plays(ledger: Ledger, table: str, key: int) -> None:
    """Do the work of one thread, each verb in a transaction of its own."""
    for verb in VERBS:
        ledger.run(partial(verb, table=table, key=key), ATTEMPTS, DEADLINE_S)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """Return what the threads found that began together."""
    begin = Barrier(THREADS)

    def begins(number: int) -> Any:
        begin.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begins, range(THREADS)))


def content(ledger: Ledger, table: str) -> Mapping[int, int]:
    found = ledger.scan(table).to_arrow().to_pylist()
    assert len(found) == len({each["id"] for each in found})
    return {each["id"]: each["v"] for each in found}


def changed(ledger: Ledger, table: str) -> list[Mapping[str, Any]]:
    return sorted(ledger.changes(table).rows().read_all().to_pylist(), key=repr)


@pytest.fixture
def lake(ledger: Ledger, tmp_path: Path) -> Ledger:
    for name in ("db.at_once", "db.serial"):
        ledger.create_table(name, [{"id": SHARED, "v": 0}], location=str(tmp_path / name))
    return ledger


def test_sixteen_threads_change_one_table_as_if_one_after_the_other(lake: Ledger) -> None:
    evaluation.close_database()
    for key in range(THREADS):
        plays(lake, "db.serial", key)

    at_once(lambda key: plays(lake, "db.at_once", key))

    assert content(lake, "db.at_once") == content(lake, "db.serial")
    assert lake.table("db.at_once").version == len(VERBS) * THREADS


def test_changes_at_once(lake: Ledger) -> None:
    """Each of sixteen threads gets all changes up to where it began, while some of them write."""
    for key in range(THREADS // 4):
        plays(lake, "db.serial", key)
    serial = changed(lake, "db.serial")

    def works(number: int) -> int:
        if number % 4 == 0:
            plays(lake, "db.at_once", number)
        read = 0
        for _ in range(ROUNDS):
            assert changed(lake, "db.serial") == serial
            newest = lake.table("db.at_once").version
            versions = [change.version for change in lake.changes("db.at_once")]
            assert versions == list(range(len(versions)))
            assert len(versions) > newest
            read = len(versions)
        return read

    assert max(at_once(works)) == len(VERBS) * THREADS // 4 + 1


def test_clients_come_and_go_at_once(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path
) -> None:
    ledger.create_table("db.t", [("thread", "int"), ("round", "int")], location=str(tmp_path))

    def works(number: int) -> None:
        for each in range(ROUNDS):
            with memory.connect(application=f"a{number}") as own:
                own.append("db.t", [{"thread": number, "round": each}])
                mine = own.scan("db.t", f"thread = {number}").count()
                assert mine == each + 1
                found = own.sql("SELECT max(round) AS top FROM db.t WHERE thread = ?", [number])
                assert found.to_pylist() == [{"top": each}]

    at_once(works)

    found = {(each["thread"], each["round"]) for each in ledger.scan("db.t").to_arrow().to_pylist()}
    assert found == {(number, each) for number in range(THREADS) for each in range(ROUNDS)}
    assert ledger.scan("db.t").count() == len(found)
