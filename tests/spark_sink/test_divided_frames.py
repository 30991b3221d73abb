"""Frames and streams of tables that transforms divide: results are no values of columns."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from ledger.testing import InMemoryLedger
from spark_sink import attach, cached_table
from tests.spark_sink.catalog.divided import check_files
from tests.spark_sink.host import Host

pytestmark = pytest.mark.spark

NAME = "db.seen"
COLUMNS = [("id", "bigint"), ("at", "timestamp"), ("region", "string")]
BEGIN = datetime(2025, 12, 31, 22, tzinfo=UTC)


def seen(first: int, end: int) -> list[dict[str, object]]:
    return [
        {"id": at, "at": BEGIN + timedelta(hours=at), "region": "xy"[at % 2]}
        for at in range(first, end)
    ]


def ids(frame: DataFrame) -> list[int]:
    return sorted(each["id"] for each in frame.collect())


def test_frames_of_a_host_have_rows_of_each_division(spark: SparkSession, host: Host) -> None:
    """A column that gets the text of a former transform as its name has its own values."""
    ledger, place = host.ledger, host.warehouse / "seen"
    ledger.create_table(
        NAME, COLUMNS, partition_columns=["days(at)", "region", "bucket(4, id)"], location=place
    )
    ledger.append(NAME, seen(0, 20))
    before = host.snapshot()
    ledger.alter_table(NAME, partition_columns=["months(at)", "region"])
    ledger.append(NAME, seen(20, 40))
    ledger.alter_table(NAME, columns=[*COLUMNS, ("days(at)", "string")])
    ledger.append(NAME, [{**each, "days(at)": "own"} for each in seen(40, 50)])
    now = host.snapshot()
    frame = cached_table(spark, NAME, now, host.tables)
    assert ids(frame) == list(range(50))
    assert ids(frame.where("`days(at)` = 'own'")) == list(range(40, 50))
    assert ids(frame.where("`days(at)` IS NULL")) == list(range(40))
    assert {tuple(each) for each in frame.select("region").distinct().collect()} == {("x",), ("y",)}
    where = "at < TIMESTAMP'2026-01-01 00:00:00Z' OR id = 25"
    assert ids(cached_table(spark, NAME, now, host.tables, where=where)) == [0, 1, 25]
    assert ids(cached_table(spark, NAME, before, host.tables)) == list(range(20))
    check_files(ledger, NAME)


def test_streams_divide_each_batch(spark: SparkSession, tmp_path: Path) -> None:
    """A sink that is named by its format has no catalog with the functions that it needs."""
    with InMemoryLedger() as memory:
        ledger = memory.connect(application="spark", warehouse=str(tmp_path / "lake"))
        attach(spark, ledger)
        by = ["hours(at)", "bucket(3, id)", "region"]
        ledger.create_table("db.source", COLUMNS, partition_columns=["days(at)"])
        ledger.create_table("db.sink", COLUMNS, partition_columns=by)
        for first in (0, 20):
            ledger.append("db.source", seen(first, first + 20))
            writer = spark.readStream.table("ledger.db.source").writeStream
            writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
            writer.trigger(availableNow=True).toTable("ledger.db.sink").awaitTermination()
        assert ids(spark.table("ledger.db.sink")) == list(range(40))
        assert check_files(ledger, "db.sink") == 40
        ledger.append("db.source", seen(40, 50))
        writer = spark.readStream.table("ledger.db.source").writeStream.format("lakeledger")
        writer = writer.option("checkpointLocation", str(tmp_path / "another"))
        query = writer.trigger(availableNow=True).start("ledger.db.sink")
        with pytest.raises(StreamingQueryException, match="must end with toTable"):
            query.awaitTermination()


def test_frames_are_saved_into_divided_tables(spark: SparkSession, tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect(application="spark", warehouse=str(tmp_path / "lake"))
        attach(spark, ledger)
        by = ["truncate(1, region)", "years(at)", "bucket(3, at)"]
        ledger.create_table("db.sink", COLUMNS, partition_columns=by)
        frame = spark.createDataFrame(seen(0, 30), "id BIGINT, at TIMESTAMP, region STRING")
        frame.write.format("lakeledger").mode("append").save("ledger.db.sink")
        frame.write.mode("append").insertInto("ledger.db.sink")
        frame.writeTo("ledger.db.sink").append()
        assert ids(spark.table("ledger.db.sink")) == sorted([*range(30)] * 3)
        check_files(ledger, "db.sink")
        frame.write.format("lakeledger").mode("overwrite").save("ledger.db.sink")
        assert ids(spark.table("ledger.db.sink")) == list(range(30))
        check_files(ledger, "db.sink")
