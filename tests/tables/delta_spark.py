"""delta-spark as a reader of published tables; its jars come through Spark's own resolver."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

PACKAGE: Final = "io.delta:delta-spark_4.2_2.13:4.4.0"
# Spark's launcher ends so if it cannot fetch a jar.
NO_JARS: Final = "JAVA_GATEWAY_EXITED"


@contextmanager
def delta_session(folder: Path) -> Iterator[Any]:
    """Run a session of Spark with Delta; skips the test where its jars cannot be fetched."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - loads Spark
    from pyspark.sql import SparkSession  # noqa: PLC0415 - loads Spark

    settings = {
        "spark.jars.packages": PACKAGE,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    builder = SparkSession.builder.master("local[1]").appName("published")
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except (PySparkException, RuntimeError) as problem:
        if NO_JARS not in str(problem):
            raise
        pytest.skip(f"the jars of {PACKAGE} cannot be fetched: {problem}")
    try:
        yield session
    finally:
        session.stop()


def by_spark(session: Any, folder: str, version: int) -> pa.Table:
    """Return the rows of a version as delta-spark reads them."""
    found = session.read.format("delta").option("versionAsOf", version).load(folder)
    return found.toArrow()
