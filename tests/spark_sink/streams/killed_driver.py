"""A driver that is killed: `python -m tests.spark_sink.streams.killed_driver POINT`.

It runs a stream over the files of its folder, and kills itself in batch 1 at a point: "files" are
written and not committed, "commit" is done and Spark does not know it, "" is no point.
"""

import os
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from ledger.client import Ledger
from spark_sink import attach, foreach_batch
from spark_sink.session import ledger_session


def die() -> None:
    """End as the kernel ends a process: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(point: str) -> None:
    """Run the stream until it has read what there is."""
    spark = ledger_session("killed-driver")
    with Ledger.connect() as ledger:
        attach(spark, ledger)

        def write(frame: DataFrame, batch: int) -> None:
            frame.writeTo("ledger.db.t").append()
            if batch == 1 and point == "files":
                die()

        sink = foreach_batch(write)

        def watched(frame: DataFrame, batch: int) -> None:
            sink(frame, batch)
            if batch == 1 and point == "commit":
                die()

        reader = spark.readStream.schema("id BIGINT, name STRING, odd INT")
        source = reader.option("maxFilesPerTrigger", 1).json("in")
        writer = source.writeStream.foreachBatch(watched).trigger(availableNow=True)
        place = str(Path("checkpoint").absolute())
        writer.option("checkpointLocation", place).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
