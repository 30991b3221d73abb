"""A ledger in memory as the catalog of the Spark session, and streams of small files into it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ledger.log.lossy import LossyLog
from ledger.testing import InMemoryLedger
from tests.spark_sink.streams.river import River


@pytest.fixture
def log() -> LossyLog:
    """Return a log that loses what it is told to lose."""
    return LossyLog()


@pytest.fixture
def river(spark: SparkSession, log: LossyLog, tmp_path: Path) -> Iterator[River]:
    """Return a stream of files and a ledger of its own."""
    with InMemoryLedger(log=log) as memory:
        yield River(spark, memory, tmp_path)
