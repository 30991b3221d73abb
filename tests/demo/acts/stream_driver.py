"""A driver of Spark that streams files into a table: `python -m tests.demo.acts.stream_driver ...`.

The demo kills it on the way, and goes on with its checkpoint in another session.
"""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from ledger.client import Ledger
from projections.queries import open_reads
from spark_sink.catalog.session.attaching import attach
from tests.demo.acts.spark_job import start_spark

TABLE: Final = "ledger.sql.arrivals"


def start_stream(spark: SparkSession, folder: Path, checkpoint: Path) -> Any:
    """Start the stream of the files of a folder, one in each batch, until it has read them all."""
    schema = spark.table(TABLE).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    writer = source.parquet(str(folder)).writeStream.queryName("arrivals")
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    return writer.toTable(TABLE)


def main(bootstrap: str, name: str, store: str, folder: str, root: str) -> None:
    """Stream the files of a folder; checkpoint and scratch files lie below `root`."""
    spark = start_spark(Path(root) / "driver")
    with (
        closing(open_reads(Path(store))) as reads,
        Ledger.connect(bootstrap, name, reads=reads, application="demo-stream") as ledger,
    ):
        attach(spark, ledger)
        start_stream(spark, Path(folder), checkpoint_in(Path(root))).awaitTermination()
    spark.stop()


def checkpoint_in(root: Path) -> Path:
    """Return the place of the checkpoint."""
    return root / "checkpoint"


if __name__ == "__main__":
    main(*sys.argv[1:])
