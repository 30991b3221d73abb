"""A daily job in at most twelve lines: what a user of Spark does with a table from day to day."""

import ast
import inspect
from typing import Final

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import expr

from ledger.client import Ledger
from spark_sink import Lake, attach

LINES_MAX: Final = 12


def daily_job(session: SparkSession, ledger: Ledger) -> list[Row]:
    """Create, merge, update, optimize, read the history, and go back."""
    spark = attach(session, ledger).spark
    spark.sql("CREATE TABLE IF NOT EXISTS ledger.shop.daily (id BIGINT, n INT) PARTITIONED BY (n)")
    frame = spark.sql("SELECT id, int(id % 2) AS n FROM range(100)").alias("new")
    merge = frame.mergeInto("ledger.shop.daily", expr("daily.id = new.id"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    spark.sql("UPDATE ledger.shop.daily SET n = 2 WHERE id < 10")
    spark.sql("OPTIMIZE ledger.shop.daily ZORDER BY (id)")
    history = spark.sql("DESCRIBE HISTORY ledger.shop.daily").collect()
    spark.sql("RESTORE TABLE ledger.shop.daily TO VERSION AS OF 1")
    return history


@pytest.mark.spark
def test_a_daily_job_takes_a_few_lines(lake: Lake) -> None:
    history = daily_job(lake.spark, lake.ledger)
    assert [row.operation for row in history] == ["OPTIMIZE", "UPDATE", "MERGE", "CREATE TABLE"]
    assert [row.rows_inserted for row in history[1:3]] == [0, 100]
    found = lake.spark.table("ledger.shop.daily")
    assert (found.count(), found.where("n = 2").count()) == (100, 0)
    (work,) = ast.parse(inspect.getsource(daily_job)).body
    assert isinstance(work, ast.FunctionDef)
    assert len(work.body) - 1 <= LINES_MAX
