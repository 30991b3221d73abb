"""A ledger in memory behind the catalog `ledger` of the Spark session of all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ledger.testing import InMemoryLedger
from spark_sink import Lake, attach


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def lake(spark: SparkSession, memory: InMemoryLedger, tmp_path: Path) -> Lake:
    """Return the catalog of a new ledger, whose tables lie in a folder of the test."""
    return attach(spark, memory.connect(application="spark", warehouse=str(tmp_path / "lake")))
