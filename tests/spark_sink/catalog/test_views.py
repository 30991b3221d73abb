"""Views and schemas of the catalog, which Spark and the SDK share."""

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark


@pytest.fixture
def table(lake: Lake) -> Lake:
    done(
        lake,
        "CREATE TABLE ledger.db.t (id INT, name STRING)",
        "INSERT INTO ledger.db.t VALUES (1, 'pen'), (2, 'ink')",
    )
    return lake


def test_a_view_is_created_read_replaced_renamed_and_dropped(table: Lake) -> None:
    done(table, "CREATE VIEW ledger.db.v (n COMMENT 'number') AS SELECT id FROM ledger.db.t")

    assert rows(table, "SELECT n + 1 FROM ledger.db.v") == [(2,), (3,)]
    assert rows(table, "SHOW TABLES IN ledger.db LIKE 't'") == [("db", "t", False)]
    assert ("db", "v", False) in rows(table, "SHOW VIEWS IN ledger.db")

    done(table, "CREATE OR REPLACE VIEW ledger.db.v AS SELECT name FROM ledger.db.t WHERE id = 2")

    assert rows(table, "SELECT * FROM ledger.db.v") == [("ink",)]

    done(table, "ALTER VIEW ledger.db.v AS SELECT max(id) AS m FROM ledger.db.t")
    done(table, "ALTER VIEW ledger.db.v RENAME TO ledger.db.w")

    assert rows(table, "SELECT m FROM ledger.db.w") == [(2,)]

    done(table, "DROP VIEW ledger.db.w")

    assert rows(table, "SHOW VIEWS IN ledger.db") == []


def test_names_in_a_view_mean_what_they_meant_where_it_was_created(table: Lake) -> None:
    spark = table.spark
    before = spark.catalog.currentCatalog()
    try:
        done(table, "USE ledger.db", "CREATE VIEW v AS SELECT count(*) AS n FROM t")
    finally:
        spark.catalog.setCurrentCatalog(before)

    assert rows(table, "SELECT n FROM ledger.db.v") == [(2,)]
    assert table.ledger.sql("SELECT n FROM db.v").to_pylist() == [{"n": 2}]


def test_spark_reads_a_view_of_the_sdk(table: Lake) -> None:
    table.ledger.create_view("db.v", "SELECT id, name FROM db.t WHERE id > 1")

    assert rows(table, "SELECT * FROM ledger.db.v") == [(2, "ink")]

    done(table, "ALTER VIEW ledger.db.v SET TBLPROPERTIES ('team' = 'a')")

    assert table.ledger.sql("SELECT name FROM db.v").to_pylist() == [{"name": "ink"}]


def test_a_view_of_the_sdk_that_spark_may_read_differently_is_refused(table: Lake) -> None:
    table.ledger.create_view("db.v", "SELECT id / 2 AS half FROM db.t")

    assert "was written for ledger.sql" in refusal(table, "SELECT * FROM ledger.db.v")


def test_a_view_of_spark_that_duckdb_may_read_differently_is_refused(table: Lake) -> None:
    done(table, "CREATE VIEW ledger.db.v AS SELECT id / 2 AS half FROM ledger.db.t")

    assert rows(table, "SELECT half FROM ledger.db.v") == [(0.5,), (1.0,)]
    with pytest.raises(ValueError, match="was written for Spark SQL"):
        table.ledger.sql("SELECT half FROM db.v")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE VIEW ledger.db.t AS SELECT 1 AS x", "t"),
        ("INSERT INTO ledger.db.v VALUES (1)", "v"),
        ("DROP TABLE ledger.db.v", "v"),
        ("DROP VIEW ledger.db.t", "t"),
        ("SELECT * FROM ledger.db.v VERSION AS OF 1", "v"),
    ],
)
def test_a_view_is_no_table(table: Lake, statement: str, said: str) -> None:
    done(table, "CREATE VIEW ledger.db.v AS SELECT id FROM ledger.db.t")
    with pytest.raises((PySparkException, Py4JJavaError), match=said):
        done(table, statement)

    assert rows(table, "SELECT * FROM ledger.db.v") == [(1,), (2,)]
    assert len(rows(table, "SELECT * FROM ledger.db.t")) == 2


def test_schemas_have_properties_and_are_known_to_all_clients(lake: Lake) -> None:
    done(lake, "CREATE SCHEMA ledger.s COMMENT 'first' WITH DBPROPERTIES ('a' = 'b')")

    assert [row.name for row in lake.ledger.namespaces()] == ["s"]
    assert ("Comment", "first") in rows(lake, "DESCRIBE SCHEMA ledger.s")

    done(lake, "COMMENT ON SCHEMA ledger.s IS 'second'")
    lake.ledger.create_namespace("s.inner")

    assert ("Comment", "second") in rows(lake, "DESCRIBE SCHEMA ledger.s")
    assert rows(lake, "SHOW SCHEMAS IN ledger.s") == [("s.inner",)]
    assert "SCHEMA_NOT_EMPTY" in refusal(lake, "DROP SCHEMA ledger.s")

    done(lake, "DROP SCHEMA ledger.s CASCADE")

    assert rows(lake, "SHOW SCHEMAS IN ledger") == []


def test_a_dropped_table_comes_back(table: Lake) -> None:
    done(table, "DROP TABLE ledger.db.t")
    (row,) = table.spark.sql("UNDROP TABLE ledger.db.t").collect()

    assert (row.table, rows(table, "SELECT id FROM ledger.db.t")) == ("db.t", [(1,), (2,)])
