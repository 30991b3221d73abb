"""S2 and catch-up: the rows of a log that is there, made by Spark and by the follower.

Each round makes the rows of the same 100,000 events anew, from an empty store to the last event:
in a Structured Streaming query on a session that has run before, and in the plain follower. The
raw side only consumes the bytes.
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.log.wire.codec import encode_command
from ledger.machine.kafka.broker import Broker
from projections.fold.fold import Fed, Fold
from projections.fold.follower import Follower
from projections.store.rocks_store import RocksStore
from spark_sink.feeder import Feeder
from spark_sink.session import ledger_session
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.recovery import RAW_PASSES, raw_s
from tests.benchmarks.repeated import collected_as_in_a_role
from tests.benchmarks.sequencer_loop import fill, sequencer_loop
from tests.benchmarks.workload import commands

# Three events each, and some to begin with.
TXNS: Final = 33_334
ROUNDS: Final = 3
NAME: Final = "s2"

MakeRows = Callable[[RocksStore, Path], None]


class History(NamedTuple):
    """A log of which all counts, up to `end`, and what makes rows of it."""

    broker: Broker
    log: KafkaLog
    spark: SparkSession
    end: int

    def round(self) -> tuple[float, float, float]:
        """Return events per second of the Spark feeder, of the follower, of raw consumption."""
        raw_rate = RAW_PASSES * self.end / raw_s(self.broker, NAME, 0, self.end)
        return self.end / rows_s(self.by_spark), self.end / rows_s(self.by_follower), raw_rate

    def by_follower(self, store: RocksStore, _folder: Path) -> None:
        """Let a follower read to the end."""
        stop = Signal()
        Follower(self.log, store, caught_up=stop.set).run(stop)

    def by_spark(self, store: RocksStore, folder: Path) -> None:
        """Let a streaming query read to the end."""
        stop = Signal()

        def note(fed: Fed) -> None:
            if fed.position >= self.end:
                stop.set()

        feeder = Feeder(
            self.spark,
            Fold.load(store, self.log),
            bootstrap=self.broker.bootstrap,
            ledger=NAME,
            checkpoints=folder / "checkpoints",
            applied=note,
        )
        feeder.run(stop)


def measure(broker: Broker) -> list[Figure]:
    """Return S2 and catch-up."""
    values = [encode_command(command) for command in commands(TXNS)]
    fill(broker, NAME, values)
    sequencer_loop(broker, NAME, len(values))
    spark = ledger_session("lakeledger-benchmark")
    with closing(KafkaLog(broker.bootstrap, NAME)) as log:
        history = History(broker, log, spark, log.ends(Topic.EVENTS)[1])
        # In the first round Spark's runtime is still compiling.
        rounds = [history.round() for _ in range(ROUNDS + 1)][1:]
    spark.stop()
    what = f"{ROUNDS} stores made of {history.end} events"
    by_spark = [(ours, plain) for ours, plain, _ in rounds]
    by_follower = [(plain, raw) for _, plain, raw in rounds]
    return [
        against("S2", "events/s", by_spark, f"{what} by Spark, against the plain follower"),
        against("catch-up", "events/s", by_follower, f"{what}, against raw consumption"),
    ]


def rows_s(make: MakeRows) -> float:
    """Return the seconds it takes to make all rows in a new store."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(RocksStore.open(Path(folder) / "rows")) as store,
        collected_as_in_a_role(),
    ):
        began_s = time.perf_counter()
        make(store, Path(folder))
        return time.perf_counter() - began_s
