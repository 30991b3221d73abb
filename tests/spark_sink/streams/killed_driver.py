"""A driver that is killed: `python -m tests.spark_sink.streams.killed_driver SINK [POINT WRITE]`.

It moves the files of its folder into a table, one file at a time, and kills itself in the write of
that number at a point. "files": all are written, and nothing is committed. "publish": the commit is
on its way. "commit": it is done, and Spark does not know it. A sink is `to_table`, `foreach_batch`
or `batch`, a job over two tables whose runs have numbers. `from_table` is a stream into a table
from the commits of another.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from ledger.client import Ledger
from ledger.config.search import find_address
from ledger.core.commands import CommitTxn
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.log.wire.codec import decode_command
from spark_sink import attach, foreach_batch, transaction
from spark_sink.catalog.questions import CATALOGS
from spark_sink.session import ledger_session

SCHEMA: Final = "id BIGINT, name STRING, odd INT"
LOOK_S: Final = 0.2


def die() -> None:
    """End as the kernel ends a process: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    """Answers the catalog's questions as the process does, and kills it at a point.

    `writes` is how many writes come before the one in which it ends.
    """

    class Java:
        """The Java interface of this object, for Py4J."""

        implements: Final = ["java.util.function.BiFunction"]

    def __init__(self, point: str, writes: int) -> None:
        self.point = point
        self._left = writes
        self._is_near = Event()
        if point == "publish":
            self._watch_commands()

    def apply(self, word: str, text: str) -> str:
        """Answer a question."""
        if word == "wrote":
            self._left -= 1
            if self._left < 0 and self.point == "files":
                die()
            if self._left < 0:
                self._is_near.set()
        answer = CATALOGS.apply(word, text)
        # Within `transaction` the statement commits nothing.
        if word == "commit" and not json.loads(text).get("joined"):
            self.committed()
        return answer

    def committed(self) -> None:
        """End after a commit, if it is the one."""
        if self.point == "commit" and self._left < 0:
            die()

    def _watch_commands(self) -> None:
        """End as soon as the commit of the write is in the log, with no regard to its answer."""
        address = find_address(None, None)
        log = KafkaLog(address.bootstrap, address.ledger)
        reader = log.reader(Topic.COMMANDS, log.ends(Topic.COMMANDS)[1])

        def watch() -> None:
            with closing(log), closing(reader):
                while True:
                    for record in reader.read(100, LOOK_S):
                        command = decode_command(record.value)
                        if self._is_near.is_set() and isinstance(command, CommitTxn):
                            die()

        Thread(target=watch, daemon=True).start()


def stream_of(spark: SparkSession) -> Any:
    """Return the writer of a stream over the files, one in each batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    writer = reader.json("in").writeStream.trigger(availableNow=True)
    return writer.option("checkpointLocation", str(Path("checkpoint").absolute()))


def to_table(spark: SparkSession, _: Watched) -> None:
    """Let a stream write into a table."""
    stream_of(spark).toTable("ledger.db.to_table").awaitTermination()


def from_table(spark: SparkSession, _: Watched) -> None:
    """Let a stream move the commits of one table into another, one at a time."""
    reader = spark.readStream.option("startingVersion", 1).option("maxFilesPerTrigger", 1)
    writer = reader.table("ledger.db.source").writeStream.trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(Path("checkpoint").absolute()))
    writer.toTable("ledger.db.from_table").awaitTermination()


def by_batches(spark: SparkSession, watched: Watched) -> None:
    """Let a function write each batch."""
    sink = foreach_batch("db.foreach_batch")

    def write(frame: DataFrame, batch: int) -> None:
        sink(frame, batch)
        watched.committed()

    stream_of(spark).foreachBatch(write).start().awaitTermination()


def by_jobs(spark: SparkSession, watched: Watched) -> None:
    """Run a job for each file, under its number; one that was done before changes nothing."""
    for number, file in enumerate(sorted(Path("in").iterdir())):
        spark.read.schema(SCHEMA).json(str(file)).createOrReplaceTempView("rows")
        with transaction(spark) as txn:
            txn.app("job", number)
            spark.sql("INSERT INTO ledger.db.batch SELECT * FROM rows")
            spark.sql("INSERT INTO ledger.db.counts SELECT count(*) FROM rows")
        watched.committed()


SINKS: Final[Mapping[str, Callable[[SparkSession, Watched], None]]] = {
    "to_table": to_table,
    "from_table": from_table,
    "foreach_batch": by_batches,
    "batch": by_jobs,
}


def main(sink: str, point: str = "", writes: str = "0") -> None:
    """Move all files, or end on the way."""
    spark = ledger_session("killed-driver")
    with Ledger.connect() as ledger:
        attach(spark, ledger)
        watched = Watched(point, int(writes))
        gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - as the product does
        gateway.jvm.lakeledger.PythonCall.setBackend(watched)
        SINKS[sink](spark, watched)
        open_txns = len(ledger.reads().open_txns(9))
    spark.stop()
    sys.stdout.write(f"{json.dumps(open_txns)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
