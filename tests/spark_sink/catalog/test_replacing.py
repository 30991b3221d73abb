"""Tables that are replaced: what the new one keeps, and what is refused before it is lost."""

from typing import Any

import pytest
from pyspark.errors import PySparkException

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

MADE = (
    "CREATE TABLE ledger.db.t (id INT NOT NULL, p INT, CONSTRAINT pos CHECK (id > 0)) "
    "PARTITIONED BY (p) TBLPROPERTIES ('delta.isolationLevel' = 'Serializable', 'team' = 'a')"
)


@pytest.fixture
def table(lake: Lake) -> Lake:
    done(lake, MADE, "INSERT INTO ledger.db.t VALUES (1, 1)")
    return lake


def kept(lake: Lake) -> tuple[Any, ...]:
    """Return what the table has beside its rows."""
    found = lake.ledger.table("db.t").definition
    assert found is not None
    nullable = {column.name: column.nullable for column in found.columns}
    properties = {each.key: each.value for each in found.properties}
    return tuple(found.partition_columns), nullable, properties


KEPT = {"delta.constraints.pos": "id > 0", "delta.isolationLevel": "Serializable", "team": "a"}
QUERY = "AS SELECT 2 AS id, 2 AS p"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (f"CREATE OR REPLACE TABLE ledger.db.t {QUERY}", [(2, 2)]),
        (f"REPLACE TABLE ledger.db.t {QUERY}", [(2, 2)]),
        (f"CREATE OR REPLACE TABLE ledger.db.t PARTITIONED BY (p) {QUERY}", [(2, 2)]),
        ("REPLACE TABLE ledger.db.t (id INT, p INT)", []),
    ],
)
def test_kept(table: Lake, statement: str, found: list[Any]) -> None:
    """A table of the same columns keeps partitioning, NOT NULL, constraints and properties."""
    before = kept(table)
    done(table, statement)
    assert rows(table, "SELECT id, p FROM ledger.db.t") == found
    assert kept(table) == before == (("p",), {"id": False, "p": True}, KEPT)
    assert "CHECK_CONSTRAINT" in refusal(table, "INSERT INTO ledger.db.t VALUES (-1, 1)")
    assert "NULL" in refusal(table, "INSERT INTO ledger.db.t VALUES (NULL, 1)")


def test_a_frame_that_is_saved_over_a_table_keeps_it_too(table: Lake) -> None:
    before = kept(table)
    same = table.spark.createDataFrame([(3, 3)], "id INT, p INT")
    same.write.mode("overwrite").saveAsTable("ledger.db.t")
    same.writeTo("ledger.db.t").createOrReplace()
    assert kept(table) == before
    other = table.spark.createDataFrame([(3, "x")], "id INT, q STRING")
    with pytest.raises(PySparkException, match="partitioning by p"):
        other.write.mode("overwrite").saveAsTable("ledger.db.t")
    with pytest.raises(PySparkException, match="mergeSchema"):
        same.write.mode("overwrite").option("mergeSchema", "true").saveAsTable("ledger.db.t")
    assert rows(table, "SELECT * FROM ledger.db.t") == [(3, 3)]
    other.write.mode("overwrite").option("overwriteSchema", "true").saveAsTable("ledger.db.t")
    assert kept(table) == ((), {"id": False, "q": True}, KEPT)


@pytest.mark.parametrize(
    ("statement", "lost"),
    [
        ("CREATE OR REPLACE TABLE ledger.db.t (x INT)", "the partitioning by p, constraint pos"),
        ("REPLACE TABLE ledger.db.t (id INT, x INT)", "the partitioning by p"),
        ("REPLACE TABLE ledger.db.t (id INT, p INT) PARTITIONED BY (id)", "partitioning by p"),
        ("REPLACE TABLE ledger.db.t AS SELECT 1 AS p", "constraint pos"),
    ],
)
def test_what_a_new_table_would_lose_is_named(table: Lake, statement: str, lost: str) -> None:
    before = kept(table)
    assert lost in refusal(table, statement)
    assert kept(table) == before
    assert rows(table, "SELECT * FROM ledger.db.t") == [(1, 1)]


def test_one_commit(table: Lake) -> None:
    """A replaced table belongs to the commit of its txn, and a query that fails leaves the old."""
    assert refusal(table, "REPLACE TABLE ledger.db.t AS SELECT 1 / 0 AS id, 1 AS p")
    assert rows(table, "SELECT * FROM ledger.db.t") == [(1, 1)]
    with table.transaction():
        for _ in range(2):
            again = "REPLACE TABLE ledger.db.t AS SELECT id + 1 AS id, p FROM ledger.db.t"
            done(table, again)
        assert rows(table, "SELECT * FROM ledger.db.t") == [(3, 1)]
    assert rows(table, "SELECT * FROM ledger.db.t") == [(3, 1)]
