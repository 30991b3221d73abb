"""Several statements as one txn, several queries at one position, and who wins."""

from threading import Thread

import pytest
from pyspark import InheritableThread
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession

from ledger.errors import CommandInvalidError, ConcurrentAppendException, ConflictError
from spark_sink import Lake, run, snapshot, transaction
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark


@pytest.fixture
def two(lake: Lake) -> Lake:
    done(
        lake,
        "CREATE TABLE ledger.db.a (id INT, v INT)",
        "CREATE TABLE ledger.db.b (id INT, v INT)",
        "INSERT INTO ledger.db.a VALUES (1, 10), (2, 20)",
    )
    return lake


def versions(lake: Lake) -> list[int]:
    return [lake.ledger.table(name).version for name in ("db.a", "db.b")]


def test_one_commit_for_two_tables(two: Lake) -> None:
    before, seen = versions(two), []

    def look() -> None:
        seen.append(rows(two, "SELECT * FROM ledger.db.b"))

    with transaction(two.spark) as txn:
        done(
            two,
            "UPDATE ledger.db.a SET v = 11 WHERE id = 1",
            "INSERT INTO ledger.db.b SELECT id, v FROM ledger.db.a WHERE id = 1",
            "CREATE TABLE ledger.db.c AS SELECT max(v) AS top FROM ledger.db.b",
        )
        assert rows(two, "SELECT * FROM ledger.db.c") == [(11,)]
        assert ("db", "c", False) in rows(two, "SHOW TABLES IN ledger.db")
        for kind in (Thread, InheritableThread):
            thread = kind(target=look)
            thread.start()
            thread.join()
    assert seen == [[], [(1, 11)]]
    assert txn.status == "committed"
    assert [after - was for after, was in zip(versions(two), before, strict=True)] == [1, 1]
    assert rows(two, "SELECT * FROM ledger.db.b") == [(1, 11)]


def test_a_block_that_raises_leaves_no_row_no_version_and_no_file(two: Lake) -> None:
    before = versions(two)

    def fail() -> None:
        with two.transaction():
            done(two, "DELETE FROM ledger.db.a", "INSERT INTO ledger.db.b VALUES (1, 1)")
            done(two, "SELECT raise_error('too late')")

    with pytest.raises(SparkRuntimeException, match="too late"):
        fail()
    assert versions(two) == before
    assert len(rows(two, "SELECT * FROM ledger.db.a")) == 2
    assert rows(two, "SELECT * FROM ledger.db.b") == []


def test_a_statement_that_loses(two: Lake) -> None:
    """The error names the rule and explains itself; the data of the loser are gone."""

    def race() -> None:
        with two.transaction():
            done(two, "UPDATE ledger.db.a SET v = 0 WHERE id = 1")
            with two.ledger.transaction() as other:
                other.update("db.a", {"v": 1}, "id = 2")

    with pytest.raises(ConflictError) as lost:
        race()
    assert "UPDATE" in str(lost.value.explanation)
    assert rows(two, "SELECT * FROM ledger.db.a") == [(1, 10), (2, 1)]
    found = rows(two, "CALL ledger.system.conflicts('db.a')")
    assert len(found) == 1
    explained = rows(two, f"CALL ledger.system.explain_conflict({found[0][1]})")
    assert "lost" in explained[0][1]


def test_a_run_repeats_its_work_while_an_earlier_commit_wins(two: Lake) -> None:
    tries: list[int] = []

    def work(spark: SparkSession) -> int:
        spark.sql("UPDATE ledger.db.a SET v = v + 1 WHERE id = 1")
        if not tries:
            with two.ledger.transaction() as other:
                other.update("db.a", {"v": 100}, "id = 1")
        tries.append(1)
        return len(tries)

    assert run(two.spark, work) == 2
    assert rows(two, "SELECT v FROM ledger.db.a WHERE id = 1") == [(101,)]


def test_all_queries_of_a_block_see_one_position(two: Lake) -> None:
    with snapshot(two.spark):
        before = rows(two, "SELECT * FROM ledger.db.a")
        with two.ledger.transaction() as other:
            other.insert("db.a", [{"id": 3, "v": 30}])
            other.insert("db.b", [{"id": 3, "v": 30}])
        assert rows(two, "SELECT * FROM ledger.db.a") == before
        assert rows(two, "SELECT * FROM ledger.db.b") == []
    with pytest.raises(CommandInvalidError), two.snapshot():
        done(two, "INSERT INTO ledger.db.b VALUES (4, 40)")
    assert len(rows(two, "SELECT * FROM ledger.db.a")) == 3


def test_blocks_do_not_nest(two: Lake) -> None:
    with two.transaction():
        with pytest.raises(ValueError, match="already"), two.snapshot():
            pass
        done(two, "INSERT INTO ledger.db.b VALUES (1, 1)")
    assert rows(two, "SELECT * FROM ledger.db.b") == [(1, 1)]


def test_at_the_strongest_level_a_txn_also_loses_over_what_it_only_read(two: Lake) -> None:
    def race(level: str | None) -> None:
        with two.transaction(level=level):
            done(two, "INSERT INTO ledger.db.b SELECT 1, sum(v) FROM ledger.db.a")
            with two.ledger.transaction() as other:
                other.insert("db.a", [{"id": 9, "v": 90}])

    race(None)
    with pytest.raises(ConcurrentAppendException):
        race("serializable")
