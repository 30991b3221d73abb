"""S1: from the answer to a commit until a store shows it, at a pace at which nothing queues up.

A client commits on an otherwise idle ledger and waits for its commit: in the follower's own
process (S1-follower), in a RocksDB secondary of the follower's store (S1-secondary), and in one of
the store that the Spark feeder writes (S1). Everything is warm. Each txn is begun, shown and then
committed, as one that writes files meanwhile: the batch of its begin is over before its commit.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Final

from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.machine.kafka.broker import Broker
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from projections.fold.follower import Follower
from projections.queries import StoreReads
from projections.store.rocks_store import RocksStore
from tests.benchmarks.closed_loop import create_table
from tests.benchmarks.figure import Figure, percentile
from tests.benchmarks.stores import READY_S, opened

COMMITS: Final = 100
PACE_S: Final = 0.2
WARM_UP: Final = 20
# What runs on a Java that compiles as it goes takes hundreds of batches to become quick.
SPARK_WARM_UP: Final = 150
VISIBLE_MS: Final = 10_000


def measure(broker: Broker) -> list[Figure]:
    """Return S1, at the median and at the 99th percentile."""
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(
            ledger="s1", home=Path(home), bootstrap=broker.bootstrap, with_spark=True
        )
        with running(settings), closing(opened(settings.folder / "spark" / "rows")) as reads:
            took_ms = spent_ms(broker, "s1", reads, SPARK_WARM_UP)
    return figures("S1", took_ms, "a secondary of the Spark feeder's store")


def measure_secondary(broker: Broker) -> list[Figure]:
    """Return S1-secondary, at the median and at the 99th percentile."""
    name = "s1-secondary"
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(ledger=name, home=Path(home), bootstrap=broker.bootstrap)
        with running(settings), closing(opened(settings.folder / "store")) as reads:
            took_ms = spent_ms(broker, name, reads, WARM_UP)
    return figures("S1-secondary", took_ms, "a secondary of the follower's store")


def measure_follower(broker: Broker) -> list[Figure]:
    """Return S1-follower, at the median and at the 99th percentile."""
    name = "s1-follower"
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(ledger=name, home=Path(home), bootstrap=broker.bootstrap)
        with running(settings), following(broker, name, Path(home) / "own") as reads:
            took_ms = spent_ms(broker, name, reads, WARM_UP)
    return figures("S1-follower", took_ms, "the store of a follower in the same process")


@contextmanager
def following(broker: Broker, ledger: str, root: Path) -> Iterator[StoreReads]:
    """Let a follower run in this process, and yield the reads of the store it writes."""
    stop = Signal()
    with (
        closing(KafkaLog(broker.bootstrap, ledger)) as log,
        closing(RocksStore.open(root)) as store,
    ):
        thread = Thread(target=Follower(log, store).run, args=(stop,))
        thread.start()
        try:
            yield StoreReads(store)
        finally:
            stop.set()
            thread.join(READY_S)


def figures(name: str, took_ms: list[float], where: str) -> list[Figure]:
    """Return the figures of one store."""
    note = (
        f"commit answered -> wait() returned in {where}, {len(took_ms)} commits, one in "
        f"{PACE_S} s, idle otherwise"
    )
    return [
        Figure(name, round(percentile(took_ms, 0.5), 2), "ms p50", note=note),
        Figure(f"{name}-p99", round(percentile(took_ms, 0.99), 2), "ms p99", note=note),
    ]


def spent_ms(broker: Broker, ledger: str, reads: StoreReads, warm_up: int) -> list[float]:
    """Return the milliseconds until each of so many commits was seen."""
    with Ledger.connect(broker.bootstrap, ledger, reads=reads) as client:
        table = create_table(client)
        reads.wait(client.token.position, round(READY_S * 1000))
        for _ in range(warm_up):
            commit_to_visible_ms(client, reads, table)
        return [commit_to_visible_ms(client, reads, table, PACE_S) for _ in range(COMMITS)]


def commit_to_visible_ms(
    client: Ledger, reads: StoreReads, table: int, pace_s: float = 0.0
) -> float:
    """Commit a txn begun a while ago, and return the milliseconds until the store shows it."""
    txn = client.begin()
    txn.write_id(table)
    txn.wrote(table, "insert", "month=1")
    reads.wait(client.token.position, VISIBLE_MS)
    Signal().wait(pace_s)
    position = txn.commit().position
    answered_s = time.perf_counter()
    reads.wait(position, VISIBLE_MS)
    return (time.perf_counter() - answered_s) * 1000
