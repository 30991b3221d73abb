"""Statements of Spark with Iceberg's runtime: after each, all readers agree."""

from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from ledger.properties.column_mapping import PUBLISH
from tests.iceberg.clients import spark_environment
from tests.iceberg.clients.readers import NULL_PARTS, Served, agreed
from tests.iceberg.clients.spark_client import SparkClient, SparkFailedError, spark_client

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ON_READ: Final = (
    "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', "
    "'write.merge.mode'='merge-on-read'"
)
MERGE: Final = (
    "MERGE INTO lake.{t} t USING (SELECT 10 AS id, 'm' AS v UNION ALL SELECT 77, 'n') s "
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
FILL: Final = (
    "INSERT INTO lake.{t} SELECT id, timestamp'1969-12-31 12:00:00' + make_interval(0, 0, 0, "
    "int(id)), concat('v', id) FROM range(10)"
)
RENAME: Final = "ALTER TABLE lake.{t} RENAME COLUMN v TO w"
STATEMENTS: Final = (
    "INSERT INTO lake.{t} VALUES (10, 'spark'), (11, NULL)",
    "UPDATE lake.{t} SET v = 'upd' WHERE id = 2",
    "DELETE FROM lake.{t} WHERE id = 3",
    MERGE,
    "DELETE FROM lake.{t} WHERE v IS NULL",
    "CALL lake.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
    "UPDATE lake.{t} SET v = concat(v, '!') WHERE id > 5",
    "ALTER TABLE lake.{t} ADD COLUMN x INT",
    "INSERT INTO lake.{t} VALUES (12, 'x', 1)",
    RENAME,
    "CALL lake.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
    "INSERT OVERWRITE lake.{t} VALUES (1, 'all', 2)",
    "DELETE FROM lake.{t}",
)
PARTITIONED: Final = (
    FILL,
    "DELETE FROM lake.{t} WHERE id = 3",
    "UPDATE lake.{t} SET s = 'other' WHERE ts >= timestamp'1970-01-05 00:00:00'",
    "ALTER TABLE lake.{t} ADD PARTITION FIELD truncate(1, id)",
    "INSERT INTO lake.{t} VALUES (100, NULL, 'late')",
    "DELETE FROM lake.{t} WHERE ts IS NULL",
    "ALTER TABLE lake.{t} WRITE ORDERED BY id",
    "INSERT INTO lake.{t} VALUES (101, timestamp'2026-01-01 00:00:00', 'sorted')",
    "CREATE OR REPLACE TABLE lake.{t} USING iceberg AS SELECT 1 AS one",
    "INSERT INTO lake.{t} VALUES (2)",
)


@pytest.fixture
def spark(lake: Served) -> Iterator[SparkClient]:
    spark_environment.need()
    with spark_client(lake.uri) as client:
        yield client


def followed(lake: Served, spark: SparkClient, table: str, statements: Sequence[str]) -> list[str]:
    """Run statements; after each all readers agree. Returns the rows at the end."""
    rows: list[str] = []
    for each in statements:
        spark.sql(each.format(t=table))
        more = {"Spark": lambda: spark.sql(f"SELECT * FROM lake.{table}")}
        rows = agreed(lake, table, more, without=NULL_PARTS)
    return rows


@pytest.mark.parametrize("form", ["2", "3"])
@pytest.mark.parametrize("grain", ["rewrite", "marks"])
def test_tables_of_the_sdk(lake: Served, spark: SparkClient, form: str, grain: str) -> None:
    properties = {PUBLISH: "delta", "lakeledger.rows": grain, "iceberg.format-version": form}
    lake.ledger.create_table("db.t", [("id", "bigint"), ("v", "string")], properties=properties)
    lake.ledger.append("db.t", [{"id": n, "v": "a"} for n in range(5)])
    statements = [each for each in STATEMENTS if each != RENAME]
    assert followed(lake, spark, "db.t", statements) == []


def test_a_published_table_takes_no_rows_after_a_rename(lake: Served, spark: SparkClient) -> None:
    """Readers of its Delta log would look for the former name in new files."""
    columns = [("id", "bigint"), ("v", "string")]
    lake.ledger.create_table("db.t", columns, properties={PUBLISH: "delta"})
    lake.ledger.append("db.t", [{"id": 1, "v": "a"}])
    spark.sql(RENAME.format(t="db.t"))
    with pytest.raises(SparkFailedError, match="Delta"):
        spark.sql("INSERT INTO lake.db.t VALUES (2, 'b')")
    assert agreed(lake, "db.t") == ["{id: 1, w: 'a'}"]


@pytest.mark.parametrize("more", ["'format-version'='2'", f"'format-version'='3', {ON_READ}"])
def test_tables_of_spark(lake: Served, spark: SparkClient, more: str) -> None:
    spark.sql("CREATE NAMESPACE lake.sp")
    spark.sql(
        f"CREATE TABLE lake.sp.v USING iceberg TBLPROPERTIES ({more}) AS "
        "SELECT id, concat('v', id % 3) AS v FROM range(5)"
    )
    assert followed(lake, spark, "sp.v", STATEMENTS) == []
    assert spark.sql("SHOW TABLES IN lake.sp") != []


def test_partitions_by_transforms(lake: Served, spark: SparkClient) -> None:
    spark.sql("CREATE NAMESPACE lake.sp")
    spark.sql(
        "CREATE TABLE lake.sp.b (id BIGINT, ts TIMESTAMP, s STRING) USING iceberg "
        "PARTITIONED BY (days(ts), bucket(4, id), truncate(2, s))"
    )
    assert followed(lake, spark, "sp.b", PARTITIONED) == ["{one: 1}", "{one: 2}"]


def test_row_ids_of_format_3_stay_with_their_rows(spark: SparkClient) -> None:
    spark.sql("CREATE NAMESPACE lake.sp")
    spark.sql(
        f"CREATE TABLE lake.sp.r USING iceberg TBLPROPERTIES ('format-version'='3', {ON_READ}) "
        "AS SELECT id, 'a' AS v FROM range(10)"
    )
    query = "SELECT id, _row_id FROM lake.sp.r"
    before = spark.sql(query)
    assert len(set(before)) == 10
    spark.sql("UPDATE lake.sp.r SET v = 'b' WHERE id = 4")
    spark.sql("INSERT INTO lake.sp.r VALUES (10, 'c')")
    assert set(before) < set(spark.sql(query))
    newest = "SELECT count(DISTINCT _row_id) AS n FROM lake.sp.r"
    assert spark.sql(newest) == ["{n: 11}"]


def test_what_the_ledger_has_not_is_refused(lake: Served, spark: SparkClient) -> None:
    lake.ledger.create_table("db.t", [("id", "bigint")])
    lake.ledger.append("db.t", [{"id": 1}])
    with pytest.raises(SparkFailedError, match="audit"):
        spark.sql("ALTER TABLE lake.db.t CREATE BRANCH audit")
    with pytest.raises(SparkFailedError, match="GC is disabled"):
        spark.sql("CALL lake.system.expire_snapshots(table => 'db.t')")
    assert agreed(lake, "db.t") == ["{id: 1}"]
