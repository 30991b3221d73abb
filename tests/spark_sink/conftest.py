"""One Spark session for all tests marked `spark`, and a host for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_sink.session import ledger_session
from tests.spark_sink.host import Host, running_host


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark once; it takes several seconds."""
    session = ledger_session("lakeledger-tests")
    yield session
    session.stop()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with running_host(tmp_path) as host:
        yield host
