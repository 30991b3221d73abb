"""The Spark job: sums over the rows of a table, in a batch session."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from spark_sink.session import ledger_session
from tests.demo.delta_folders import PARTITION
from tests.demo.flights import MEASURES, Totals


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


def spark_totals(flights: DataFrame) -> dict[int, Totals]:
    """Return the sums of flights by month."""
    sums = (sf.sum(name) for name in MEASURES)
    rows = flights.groupBy(PARTITION).agg(sf.count(sf.lit(1)), *sums).collect()
    return {row[0]: Totals(row[1], row[2], row[3] or 0) for row in rows}
