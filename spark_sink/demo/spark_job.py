"""The Spark job: sums over just the folders or files of a snapshot, in a batch session."""

from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from ledger.core.commands import TableDefinition
from spark_sink.demo.delta_folders import PARTITION
from spark_sink.demo.flights import MEASURES, Totals
from spark_sink.session import ledger_session


def start_spark(scratch: Path) -> SparkSession:
    """Return a batch session that has run its first job and keeps its own files in `scratch`."""
    settings = {
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # A job to list a thousand folders takes longer than listing them.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    }
    spark = ledger_session("lakeledger-demo", settings=settings)
    spark.range(1).count()
    return spark


def spark_totals(
    spark: SparkSession, table: TableDefinition, paths: Iterable[Path]
) -> dict[int, Totals]:
    """Read paths as one table, with the columns the ledger knows; return its sums by month."""
    schema = ", ".join(f"{column.name} {column.type}" for column in table.columns)
    reader = spark.read.schema(schema).option("basePath", table.location)
    flights = reader.parquet(*map(str, paths))
    sums = (sf.sum(name) for name in MEASURES)
    rows = flights.groupBy(PARTITION).agg(sf.count(sf.lit(1)), *sums).collect()
    return {row[0]: Totals(row[1], row[2], row[3] or 0) for row in rows}
