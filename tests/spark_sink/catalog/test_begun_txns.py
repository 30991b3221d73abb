"""Txns in SQL alone: BEGIN, COMMIT, ROLLBACK and BEGIN ATOMIC."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from pyspark.errors import PySparkException, SparkRuntimeException

from spark_sink import Lake
from spark_sink.catalog.session.open_statements import Refusal
from spark_sink.catalog.sql.table_names import SessionPlace
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

A: Final = "ledger.db.a"
B: Final = "ledger.db.b"


@pytest.fixture
def two(lake: Lake) -> Iterator[Lake]:
    done(lake, f"CREATE TABLE {A} (id INT, v INT)", f"CREATE TABLE {B} (id INT, v INT)")
    done(lake, f"INSERT INTO {A} VALUES (1, 10), (2, 20)")
    yield lake
    with suppress(PySparkException):
        done(lake, "ROLLBACK")


def test_statements_from_begin_to_commit_are_one_txn(two: Lake) -> None:
    other = two.spark.newSession()
    done(two, "BEGIN", f"UPDATE {A} SET v = v + 1", f"INSERT INTO {B} SELECT * FROM {A}")
    assert rows(two, f"SELECT * FROM {B}") == [(1, 11), (2, 21)]
    assert other.table(B).count() == 0
    (committed,) = two.spark.sql("COMMIT").collect()
    assert committed.num_affected_rows == 4
    assert other.table(B).count() == 2
    assert [two.ledger.table(name).version for name in ("db.a", "db.b")] == [2, 1]
    row = two.ledger.reads().txn(committed.txn)
    assert row is not None
    assert row.status == "committed"


@pytest.mark.parametrize("word", ["BEGIN", "BEGIN TRANSACTION;", "start transaction", "BEGIN WORK"])
@pytest.mark.parametrize("end", ["ROLLBACK", "ROLLBACK WORK"])
def test_a_rollback_leaves_nothing(two: Lake, word: str, end: str) -> None:
    done(two, word, f"DELETE FROM {A}", "CREATE TABLE ledger.db.c AS SELECT 1 AS id", end)
    assert len(rows(two, f"SELECT * FROM {A}")) == 2
    assert not two.spark.catalog.tableExists("ledger.db.c")
    assert "must follow BEGIN" in refusal(two, "COMMIT")
    done(two, f"INSERT INTO {B} VALUES (1, 1)")
    assert rows(two, f"SELECT * FROM {B}") == [(1, 1)]


def test_a_commit_that_loses_ends_the_transaction(two: Lake) -> None:
    done(two, "BEGIN", f"UPDATE {A} SET v = 0 WHERE id = 1")
    two.ledger.update("db.a", {"v": 7}, "id = 2")
    assert "LEDGER_CONFLICT" in refusal(two, "COMMIT")
    assert "must follow BEGIN" in refusal(two, "COMMIT")
    assert rows(two, f"SELECT * FROM {A}") == [(1, 10), (2, 7)]
    ((_, txn, *_),) = rows(two, f"SHOW CONFLICTS IN {A}")
    assert "lost" in rows(two, f"EXPLAIN CONFLICT {txn}")[0][1]


def test_a_failed_statement_leaves_the_transaction_as_it_was(two: Lake) -> None:
    done(two, "BEGIN", f"INSERT INTO {B} VALUES (1, 1)")
    assert "none" in refusal(two, f"INSERT INTO {B} SELECT none FROM {A}")
    done(two, f"INSERT INTO {B} VALUES (2, 2)", "COMMIT")
    assert rows(two, f"SELECT * FROM {B}") == [(1, 1), (2, 2)]


def test_transactions_do_not_nest(two: Lake) -> None:
    done(two, "BEGIN")
    assert "must stand outside" in refusal(two, "BEGIN")
    assert "must stand outside" in refusal(two, f"BEGIN ATOMIC DELETE FROM {A}; END")
    with pytest.raises(ValueError, match="BEGIN opened"), two.transaction():
        pass
    done(two, "ROLLBACK")
    with two.transaction():
        assert "must stand outside" in refusal(two, "BEGIN")
        assert "a block of Python" in refusal(two, "COMMIT")
        assert "a block of Python" in refusal(two, "ROLLBACK")
        done(two, f"DELETE FROM {A}")
    assert rows(two, f"SELECT * FROM {A}") == []


def test_a_stream_that_begins_in_a_transaction_commits_by_itself(two: Lake, tmp_path: Path) -> None:
    done(two, "BEGIN", f"INSERT INTO {B} VALUES (9, 9)")
    stream = two.spark.readStream.table(A).writeStream.trigger(availableNow=True)
    stream.option("checkpointLocation", str(tmp_path)).toTable(B).awaitTermination()
    assert two.spark.newSession().table(B).count() == 2
    done(two, "ROLLBACK")
    assert rows(two, f"SELECT * FROM {B}") == [(1, 10), (2, 20)]


def test_a_level_is_that_of_the_transaction(two: Lake) -> None:
    done(two, "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    done(two, f"INSERT INTO {B} SELECT 1, sum(v) FROM {A}")
    two.ledger.append("db.a", [{"id": 9, "v": 90}])
    assert "LEDGER_CONFLICT" in refusal(two, "COMMIT")


def test_a_script_is_one_txn(two: Lake) -> None:
    (committed,) = two.spark.sql(
        f"""BEGIN ATOMIC
            DECLARE top INT DEFAULT 5;
            SET top = (SELECT max(id) FROM {A});
            INSERT INTO {B} VALUES (top, 0);
            UPDATE {A} SET v = 0 WHERE id = 2; -- and the other table
        END;"""
    ).collect()
    assert rows(two, f"SELECT * FROM {A}") == [(1, 10), (2, 0)]
    assert rows(two, f"SELECT * FROM {B}") == [(2, 0)]
    versions = two.ledger.reads().versions
    assert {versions(two.ledger.table(n).table, 1)[0].txn for n in ("db.a", "db.b")} == {
        committed.txn
    }
    done(two, f"CALL ledger.system.atomic('DELETE FROM {A}; DELETE FROM {B};')")
    assert rows(two, f"SELECT * FROM {A} UNION ALL SELECT * FROM {B}") == []


def test_a_script_that_fails_leaves_nothing(two: Lake) -> None:
    with pytest.raises(SparkRuntimeException, match="too late"):
        done(two, f"BEGIN ATOMIC DELETE FROM {A}; SELECT raise_error('too late'); END")
    assert len(rows(two, f"SELECT * FROM {A}")) == 2
    done(two, "BEGIN", "COMMIT")


def test_a_transaction_belongs_to_the_ledger_in_use() -> None:
    one, several = ("ledger",), ("ledger", "second")
    assert SessionPlace("spark_catalog", ["default"], one, ()).catalog() == "ledger"
    assert SessionPlace("second", [], several, ()).catalog() == "second"
    assert SessionPlace("second", [], several, ()).catalog("ledger/7/begun") == "ledger"
    assert SessionPlace("spark_catalog", [], (), ()).catalog() is None
    with pytest.raises(Refusal, match="USE one of them"):
        SessionPlace("spark_catalog", ["default"], several, ()).catalog()
