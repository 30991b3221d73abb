"""Statements of Spark SQL on tables that transforms divide: they do what they do to plain ones."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ledger.testing import InMemoryLedger
from spark_sink import Lake, attach
from tests.spark_sink.catalog.divided import check_files
from tests.spark_sink.catalog.sql import rows
from tests.spark_sink.conftest import spark
from tests.tables.test_transforms import BOTH, COLUMNS, DIVISIONS, drawn_condition, rows_from

__all__ = ["spark"]

STEPS = 9
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS)
MERGED = (
    "MERGE INTO {t} t USING new n ON t.id <=> n.id "
    "WHEN MATCHED AND n.kind IS NULL THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET at = n.at + INTERVAL 40 DAYS, name = n.name "
    "WHEN NOT MATCHED THEN INSERT *"
)
STATEMENTS = {
    "insert": "INSERT INTO {t} SELECT * FROM new",
    "update": (
        "UPDATE {t} SET at = at + INTERVAL 7 HOURS, id = id + 1, name = concat('b', name) "
        "WHERE {where}"
    ),
    "delete": "DELETE FROM {t} WHERE {where}",
    "merge": MERGED,
    "replace": "INSERT INTO {t} REPLACE WHERE {where} SELECT * FROM new WHERE {where}",
    "copy": "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE NOT coalesce({where}, false)",
    "optimize": "OPTIMIZE {t}",
}
DRAWN = ["insert", "insert", "insert", "update", "delete", "merge", "replace", "copy"]


class Twins:
    """An undivided table and a divided one, with the same rows."""

    def __init__(self, lake: Lake, folder: Path, seed: int) -> None:
        self.lake, self.draw = lake, Random(seed)  # noqa: S311 - draws of a test
        self.steps: list[str] = []
        properties = self.draw.choice([{}, {"lakeledger.rows": "marks"}])
        for name, by in zip(BOTH, ([], self.draw.choice(DIVISIONS[1:])), strict=True):
            lake.ledger.create_table(
                name, COLUMNS, partition_columns=by, location=folder / name, properties=properties
            )
            self.steps.append(f"{name}: {by} {properties}")

    def new_rows(self, first: int) -> list[dict[str, Any]]:
        """Return rows whose ids are different, as a MERGE needs them."""
        made = rows_from(first, self.draw.randrange(1, 25))
        return list({each["id"]: each for each in made}.values())

    def step(self, number: int) -> None:
        """Do one statement to both."""
        kind = self.draw.choice([*DRAWN, "optimize", "divide"])
        if kind == "divide":
            by = self.draw.choice([each for each in DIVISIONS if "kind" not in each])
            now = self.lake.ledger.table("divided").definition.partition_columns
            if "kind" not in now:
                self.steps.append(f"divide by {by}")
                self.lake.ledger.alter_table("divided", partition_columns=by)
            return
        first = 0 if kind == "merge" and number > 2 else 25 * number
        frame = self.lake.spark.createDataFrame(self.new_rows(first), SCHEMA)
        frame.createOrReplaceTempView("new")
        where = drawn_condition(self.draw)
        for name in BOTH:
            statement = STATEMENTS[kind].format(t=f"ledger.{name}", where=where)
            self.steps.append(statement)
            self.lake.spark.sql(statement).collect()

    def check(self) -> None:
        """Compare all rows, those of some conditions, and the partitions of files."""
        for where in ["true", *(drawn_condition(self.draw) for _ in range(3))]:
            asked = [f"SELECT * FROM ledger.{name} WHERE {where}" for name in BOTH]  # noqa: S608
            found = [rows(self.lake, each) for each in asked]
            assert found[0] == found[1], where
            scans = [self.lake.ledger.scan(name, where=where).to_arrow() for name in BOTH]
            shown = [sorted(map(repr, each.to_pylist())) for each in scans]
            assert shown[0] == shown[1], where
            assert len(shown[0]) == len(found[0]), where
        check_files(self.lake.ledger, "divided")


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_divided_tables_have_the_rows_of_plain_ones(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """Each file has one result of each transform, which is the one of every row in it."""
    with InMemoryLedger() as memory:
        lake = attach(spark, memory.connect(application="spark", warehouse=str(tmp_path)))
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        twins = Twins(lake, tmp_path, seed)
        try:
            for number in range(STEPS):
                twins.step(number)
                twins.check()
        except BaseException as error:
            error.add_note("\n  ".join(twins.steps))
            raise
