"""The feeder: a Structured Streaming query that folds the events topic into a row store.

It is the follower with Spark in place of the plain consumer: the same accept rule, fold and store,
slice by slice of a micro-batch, each write with its position. If a record does not show that the
log is still the same, the fold asks the log itself, beside Spark and in the driver. A restart
begins at the store. Spark's own checkpoint only carries a query from batch to batch and is made
anew each time, so losing it, or getting a batch twice, changes nothing.
"""

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Condition
from threading import Event as Signal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from ledger.config.settings import CHECKPOINT_S
from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.log.port import Record, Topic
from ledger.log_lines import LogLines
from projections.fold.aging import AgingCheckpoint
from projections.fold.fold import Fed, Fold
from projections.fold.registering import Registration
from spark_sink.catalog.session.callbacks import guard_callbacks
from spark_sink.session import needing_jvm
from spark_sink.slices import OFFSETS_PER_BATCH, slices_of

LOOK_S = 0.5
REPORT_S = 10.0
# How long a batch may still run after a stop: a slice of short events folds within 4 s (load 1).
END_S = 10.0
PARTITION = 0
GROUP = "lakeledger-feeder"
# Spark fetches only known records, and requests the ends of the log right afterwards. By then the
# client has sent its next fetch, and the broker answers a connection in order: in every batch the
# request waits for as long as that fetch may. With Kafka's 500 ms a batch of one event takes 680
# ms, with 1 ms 110 (load 3).
FETCH_WAIT_MS = "1"

log_lines = LogLines("lakeledger.feeder")


class Feeder:
    """Feeds one fold from one ledger's events topic until it is stopped.

    `entry` is its entry among the processes that follow the log.
    """

    def __init__(
        self,
        spark: SparkSession,
        fold: Fold,
        *,
        bootstrap: str,
        ledger: str,
        checkpoints: Path,
        trigger_ms: int = 0,
        checkpoint_s: float = CHECKPOINT_S,
        client: Mapping[str, str] = {},
        applied: Callable[[Fed], None] | None = None,
        end_s: float = END_S,
        entry: Registration | None = None,
    ) -> None:
        self._spark = spark
        self._fold = fold
        self._bootstrap = bootstrap
        self._topic = f"{ledger}.{Topic.EVENTS}"
        self._checkpoints = checkpoints
        self._trigger_ms = trigger_ms
        self._client = client
        self._applied = applied
        self._end_s = end_s
        self._checkpoint = AgingCheckpoint(fold, checkpoint_s)
        self._entry = entry
        self._turn = Condition()
        self._is_feeding = False
        self._is_stopping = False
        self._failure: Exception | None = None
        self._reported_s = 0.0
        self._reported = fold.position

    @property
    def position(self) -> int:
        """Return the position the store has reached."""
        return self._fold.position

    def run(self, stop: Signal) -> None:
        """Run the query until `stop` is set.

        Raises LogDamagedError, IncompatibleError or LogUnavailableError as the fold does, the
        latter also if Spark itself gave up, its JVM has ended, or another program stopped the
        query.
        """
        with needing_jvm(self._spark):
            self._run(stop)

    def _run(self, stop: Signal) -> None:
        self._note()
        query = self.start()
        try:
            while query.isActive and not stop.wait(LOOK_S):
                self._report(query)
                self._look_at_checkpoint()
        finally:
            self._end(query)
        if self._failure is not None:
            raise self._failure
        error = query.exception()
        if error is not None:
            # If the log lost its end, Spark's error only says that offsets are gone.
            self._fold.check_rows()
            raise LogUnavailableError(f"the streaming query ended: {error}") from error
        if not stop.is_set():
            raise LogUnavailableError(
                "the streaming query was stopped, but not by this feeder. Check what else uses its "
                "Spark session, and start the feeder again: it goes on where the store ends"
            )

    def start(self) -> StreamingQuery:
        """Start the query behind the last record the store holds."""
        shutil.rmtree(self._checkpoints, ignore_errors=True)
        guard_callbacks(self._spark.sparkContext)
        stream = self._spark.readStream.format("kafka").options(**self._source(self._fold.offset))
        events = (
            stream.option("maxOffsetsPerTrigger", OFFSETS_PER_BATCH)
            .load()
            .select("offset", "value")
        )
        log_lines.info("feeding", topic=self._topic, offset=self._fold.offset)
        return (
            events.writeStream.queryName("lakeledger-feeder")
            .option("checkpointLocation", str(self._checkpoints))
            .trigger(processingTime=f"{self._trigger_ms} milliseconds")
            .foreachBatch(self.feed_batch)
            .start()
        )

    def feed_batch(self, batch: DataFrame, _batch_id: int) -> None:
        """Fold one micro-batch; records that the store holds already are skipped."""
        with self._turn:
            if self._is_stopping:
                return
            self._is_feeding = True
        try:
            for records in slices_of(batch, self._read):
                if self._is_stopping:
                    return
                self._feed(records)
        finally:
            with self._turn:
                self._is_feeding = False
                self._turn.notify_all()

    def feed(self, records: Sequence[Record]) -> None:
        """Fold records in offset order, from the first one the store does not have."""
        fresh = [record for record in records if record.offset >= self._fold.offset]
        if not fresh:
            return
        if fresh[0].offset != self._fold.offset:
            raise LogDamagedError(
                self._fold.position + 1,
                f"the next offset must be {self._fold.offset}, got {fresh[0].offset} from Spark",
            )
        fed = self._fold.feed(fresh)
        self._checkpoint.replace_if_old()
        if self._applied is not None:
            self._applied(fed)

    def _feed(self, records: Sequence[Record]) -> None:
        """Fold records, and keep the error: Spark would hide it behind an error of its own."""
        try:
            self.feed(records)
        except Exception as error:
            self._failure = error
            raise

    def _read(self, start: int, end: int) -> DataFrame:
        """Read the records of a range of offsets once more, with all their bytes."""
        options = {
            **self._source(start),
            "endingOffsets": self._at(end),
            # Spark keeps the consumer of a group, and what it fetched ahead: one for all slices.
            "kafka.group.id": GROUP,
        }
        return self._spark.read.format("kafka").options(**options).load()

    def _source(self, start: int) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self._bootstrap,
            "assign": json.dumps({self._topic: [PARTITION]}),
            "startingOffsets": self._at(start),
            "failOnDataLoss": "true",
            "kafkaConsumer.pollTimeoutMs": "10000",
            "kafka.fetch.max.wait.ms": FETCH_WAIT_MS,
            "groupIdPrefix": GROUP,
            **{f"kafka.{key}": value for key, value in self._client.items()},
        }

    def _at(self, offset: int) -> str:
        return json.dumps({self._topic: {str(PARTITION): offset}})

    def _look_at_checkpoint(self) -> None:
        """Replace an old checkpoint, unless a batch is under way: then the batch does."""
        with self._turn:
            if not self._is_feeding:
                self._checkpoint.replace_if_old()
        self._note()

    def _note(self) -> None:
        if self._entry is not None:
            self._entry.note(self._fold.checkpointed)

    def _report(self, query: StreamingQuery) -> None:
        """Log position and lag now and then; Spark is asked only if the position moved."""
        now_s, position = time.monotonic(), self._fold.position
        if now_s - self._reported_s < REPORT_S or position == self._reported:
            return
        self._reported_s, self._reported = now_s, position
        progress = query.lastProgress
        if progress is None or not progress.numInputRows:
            return
        log_lines.info(
            "fed",
            position=position,
            lag_records=lag_of(progress.sources[0].latestOffset, self._fold.offset),
            records_per_s=round(progress.processedRowsPerSecond),
            batch_ms=progress.durationMs.get("triggerExecution"),
        )

    def _end(self, query: StreamingQuery) -> None:
        """Stop the query between two batches; inside one, Spark's interrupt would not reach it."""
        with self._turn:
            self._is_stopping = True
            is_over = self._turn.wait_for(lambda: not self._is_feeding, self._end_s)
        if not is_over:
            raise LogUnavailableError(
                f"Spark has not ended its batch {self._end_s} s after the stop"
            )
        query.stop()


def lag_of(latest: str | None, offset: int) -> int | None:
    """Return how many records the store is behind the end Spark last saw, None if it saw none."""
    if not latest:
        return None
    (partitions,) = json.loads(latest).values()
    return max(0, int(partitions[str(PARTITION)]) - offset)
