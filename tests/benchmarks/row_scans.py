"""RL5: a scan of files of which one row in a hundred is marked, against the same files before.

The version before the marks has the very same files. Both versions are read in turn, into Arrow
and by Spark.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from ledger.machine.kafka.broker import Broker
from ledger.properties.known_properties import MARKS, ROWS
from spark_sink import attach
from spark_sink.session import ledger_session
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.table_rows import Lake, checked, rounds, up

LEDGER: Final = "rl5"
TABLE: Final = "db.lines"
FILES: Final = 8
LINES_EACH: Final = 500_000
SCANS: Final = 5
MARKED: Final = "id % 100 = 3"


def measure(broker: Broker) -> list[Figure]:
    """Return RL5 for Arrow and for Spark."""
    with up(broker, LEDGER) as lake:
        before = fill(lake)
        lake.ledger.delete(TABLE, MARKED)
        files = list(lake.ledger.read(TABLE))
        assert len(files) == FILES, f"{len(files)} files, not {FILES}"
        assert all(file.deletion_vector is not None for file in files), "a file was written anew"
        with session(lake) as spark:
            return [into_arrow(lake, before), by_spark(spark, before)]


def fill(lake: Lake) -> int:
    """Write the files, and return the version of the table that has them."""
    draw = np.random.default_rng(7)
    for number in range(FILES):
        ids = np.arange(LINES_EACH, dtype=np.int64) + number * LINES_EACH
        prices = draw.random(LINES_EACH)
        names = pa.array([f"name {each % 1000}" for each in range(LINES_EACH)])
        rows = pa.table({"id": ids, "price": prices, "name": names})
        if number == 0:
            place = lake.folder / "lines"
            lake.ledger.create_table(TABLE, rows.schema, location=place, properties={ROWS: MARKS})
        lake.ledger.append(TABLE, rows)
    return lake.ledger.table(TABLE).version


@contextmanager
def session(lake: Lake) -> Iterator[SparkSession]:
    """Run a session of Spark with the ledger as a catalog."""
    spark = ledger_session("benchmarks")
    try:
        attach(spark, lake.ledger)
        yield spark
    finally:
        spark.stop()


def into_arrow(lake: Lake, before: int) -> Figure:
    """Return RL5 for Arrow."""
    every = FILES * LINES_EACH

    def marked() -> None:
        checked(lake.ledger.scan(TABLE).to_arrow(), every - every // 100)

    def whole() -> None:
        checked(lake.ledger.scan(TABLE, version=before).to_arrow(), every)

    return against("RL5", "ms p50", rounds(marked, whole, calls=SCANS), note("into Arrow"))


def by_spark(spark: SparkSession, before: int) -> Figure:
    """Return RL5 for Spark."""
    every = FILES * LINES_EACH
    query = "SELECT count(*), sum(price), max(name) FROM ledger.db.lines"

    def total(text: str, rows: int) -> None:
        found = spark.sql(text).collect()[0][0]
        assert found == rows, f"{found} rows, not {rows}"

    found = rounds(
        lambda: total(query, every - every // 100),
        lambda: total(f"{query} VERSION AS OF {before}", every),
        calls=SCANS,
    )
    return against("RL5-spark", "ms p50", found, note("by Spark, a sum"))


def note(reader: str) -> str:
    files = f"{FILES} files of {LINES_EACH} rows each"
    return f"a scan {reader} of {files}, 1 % of the rows marked, against the same files before"
