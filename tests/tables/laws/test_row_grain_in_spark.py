"""Statements of Spark SQL and of the SDK at once, over rows of the same files with marks."""

from itertools import count
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from ledger.errors import ConflictError
from ledger.testing import InMemoryLedger
from spark_sink import Lake, attach
from tests.spark_sink.conftest import spark
from tests.tables.laws.drawing import ID
from tests.tables.laws.model import ModelColumn, TableModel
from tests.tables.laws.row_drawing import few_rows, row_update, unique_rows
from tests.tables.laws.row_history import ROWS
from tests.tables.laws.statements import Delete, Insert, Statement, counted, given
from tests.tables.laws.test_histories import check_scan
from tests.tables.laws.test_names import NAME
from tests.tables.laws.test_names_in_spark import TABLE, sql_of

__all__ = ["spark"]

SIZE = 200
STEPS = 8


class SparkRows:
    """A table with marks; each step is a txn of the SDK, within which Spark commits."""

    def __init__(self, lake: Lake, folder: Path, seed: int) -> None:
        self.lake, self.rng, self.fresh = lake, Random(seed), count(1_000)  # noqa: S311
        self.steps: list[str] = []
        columns = [("id", "bigint"), ("key", "int"), ("s", "string")]
        self.model = TableModel([ModelColumn(at, *each) for at, each in enumerate(columns, 1)])
        rows = unique_rows(self.rng, self.model, SIZE, count())
        self.model.put({each.id: row.get(each.id) for each in self.model.columns} for row in rows)
        lake.ledger.create_table(NAME, columns, location=folder, properties={ROWS: "marks"})
        lake.ledger.append(NAME, given(list(self.model.rows.values()), self.model, "arrow"))

    def drawn(self) -> Statement:
        draw = self.rng.random()
        if draw < 0.2:
            rows = unique_rows(self.rng, self.model, 2, self.fresh)
            return Insert(NAME, [{2: None, 3: None, **row} for row in rows], "arrow")
        if draw < 0.5:
            return Delete(NAME, few_rows(self.rng, self.model))
        return row_update(self.rng, NAME, self.model, self.fresh)

    def step(self) -> None:
        """Run a statement in a txn, let Spark commit another one, and commit."""
        before, own = self.model.copy(), self.model.copy()
        txn, mine = self.lake.ledger.begin(), self.drawn()
        self.steps.append(f"begin {mine}")
        mine.run(txn, {NAME: before})
        mine.apply({NAME: own})
        other = self.drawn()
        self.steps.append(sql_of(other, self.model))
        self.lake.spark.sql(self.steps[-1])
        other.apply({NAME: self.model})
        try:
            txn.commit()
        except ConflictError as error:
            self.steps.append(f"loses: {type(error).__name__}")
        else:
            self.model = self.model.later(before, own)
        check_scan(self.lake.ledger, NAME, self.model)
        shown = self.lake.spark.sql(f"TABLE {TABLE}").toArrow()
        assert counted(shown) == self.model.counted()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_spark_and_the_sdk_at_once(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Neither loses a row of the other, and both show the same rows after each commit."""
    with InMemoryLedger() as memory:
        lake = attach(spark, memory.connect(application="spark", warehouse=str(tmp_path)))
        table = SparkRows(lake, tmp_path / "t", seed)
        assert ID in table.model.types
        try:
            for _ in range(STEPS):
                table.step()
        except BaseException as error:
            error.add_note("\n  ".join(table.steps))
            raise
