"""Histories as Spark sees them: its cached tables, and the meaning of conditions."""

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_sink import cached_table
from tests.spark_sink.conftest import host, spark
from tests.spark_sink.host import Host
from tests.tables.laws.drawing import some_condition
from tests.tables.laws.history import History, replayable
from tests.tables.laws.statements import counted, where_text

__all__ = ["host", "spark"]


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(4))
def test_histories_in_spark(spark: SparkSession, host: Host, seed: int) -> None:
    """A cached table shows what the txns made, and a condition finds the rows that a scan finds.

    Columns are renamed, dropped and mapped meanwhile, and tables are partitioned otherwise.
    """
    history = History(host.ledger, host.warehouse, seed)
    with replayable(seed, history):
        history.play()
        with host.snapshot() as snapshot:
            for name, model in history.world.items():
                frame = cached_table(spark, name, snapshot, host.tables)
                assert frame.columns == [column.name for column in model.columns]
                assert rows(frame) == model.counted()
                for _ in range(4):
                    where = some_condition(history.rng, model, 0)
                    text = where_text(where, model)
                    assert text is not None
                    found = rows(frame.where(text))
                    assert found == model.counted(where), text
                    assert found == counted(host.ledger.scan(name, text).to_arrow()), text


def rows(frame: Any) -> Counter[Any]:
    return counted(frame.toArrow())
