"""One Spark session for all tests marked `spark`."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_sink.session import ledger_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark once; it takes several seconds."""
    session = ledger_session("lakeledger-tests")
    yield session
    session.stop()
