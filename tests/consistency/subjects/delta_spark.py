"""delta-spark: one Spark application whose threads write to tables of one folder."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.consistency.operations import TABLES
from tests.consistency.subjects.port import Job, Session
from tests.consistency.subjects.spark_text import SparkSqlSession, application
from tests.consistency.subjects.statements import insert_first

PACKAGE: Final = "io.delta:delta-spark_4.2_2.13:4.4.0"
LACKS: Final = frozenset({"transactions", "several tables", "tokens"})
UNTRIED: Final = frozenset({"ReadAt", "Feed"})
STALE_READS: Final = False
# The classes of errors of its check for conflicts, which comes before a version is written.
REFUSALS: Final = re.compile(r"\[DELTA_(CONCURRENT|METADATA_CHANGED|PROTOCOL_CHANGED)")
SETTINGS: Final = {
    "spark.jars.packages": PACKAGE,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def version() -> str:
    import pyspark  # noqa: PLC0415 - loads Spark

    return f"delta-spark {PACKAGE.rpartition(':')[2]} in Spark {pyspark.__version__}"


def create(job: Job) -> None:
    with application(SETTINGS) as spark:
        for table in TABLES:
            name = f"delta.`{job['lake']}/{table}`"
            spark.sql(f"CREATE TABLE {name} (k BIGINT, n BIGINT, v STRING) USING delta")
            if rows := insert_first(table, name):
                spark.sql(rows)


@contextmanager
def shared(job: Job) -> Iterator[Any]:
    """Yield the application that the threads of a process share."""
    del job
    with application(SETTINGS) as spark:
        yield spark


@contextmanager
def session(job: Job) -> Iterator[Session]:
    def place(table: str) -> str:
        return f"delta.`{job['lake']}/{table}`"

    yield SparkSqlSession(job["shared"].newSession(), place, REFUSALS)
