"""CV and CVS: from the answer to a commit until readers in other processes see it.

One client commits on an otherwise idle ledger and waits for its commit in a store that another
process writes: the follower's for CV, that of the Spark feeder for CVS. The reader is warm.
"""

import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from ledger.broker import Broker
from ledger.client import Ledger
from ledger.up import UpSettings, running
from projections.queries import StoreReads
from tests.benchmarks.closed_loop import create_table
from tests.benchmarks.figure import Figure, percentile
from tests.benchmarks.stores import READY_S, opened

COMMITS: Final = 150
# Each takes Spark more than half a second.
SPARK_COMMITS: Final = 60
WARM_UP: Final = 20
VISIBLE_MS: Final = 10_000


def measure(broker: Broker) -> list[Figure]:
    """Return CV, at the median and at the 99th percentile."""
    took_ms = spent(broker, "visible", COMMITS, with_spark=False)
    return figures("CV", took_ms, "the follower's store")


def measure_spark(broker: Broker) -> list[Figure]:
    """Return CVS, at the median and at the 99th percentile."""
    took_ms = spent(broker, "visible-spark", SPARK_COMMITS, with_spark=True)
    return figures("CVS", took_ms, "the Spark feeder's")


def figures(name: str, took_ms: list[float], where: str) -> list[Figure]:
    """Return the figures of one store."""
    note = f"commit answered -> wait() returned in {where}, {len(took_ms)} commits, idle otherwise"
    return [
        Figure(name, round(percentile(took_ms, 0.5), 2), "ms p50", note=note),
        Figure(f"{name}-p99", round(percentile(took_ms, 0.99), 2), "ms p99", note=note),
    ]


def spent(broker: Broker, ledger: str, commits: int, *, with_spark: bool) -> list[float]:
    """Return the milliseconds until each of so many commits was seen."""
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(
            ledger=ledger, home=Path(home), bootstrap=broker.bootstrap, with_spark=with_spark
        )
        store = settings.folder / "spark" / "rows" if with_spark else settings.folder / "store"
        with (
            running(settings),
            closing(opened(store)) as reads,
            Ledger.connect(broker.bootstrap, ledger, reads=reads) as client,
        ):
            table = create_table(client)
            reads.wait(client.token.position, round(READY_S * 1000))
            took_ms = [commit_to_visible(client, reads, table) for _ in range(WARM_UP + commits)]
            return took_ms[WARM_UP:]


def commit_to_visible(client: Ledger, reads: StoreReads, table: int) -> float:
    """Commit, and return the milliseconds until the store shows it."""
    txn = client.begin()
    txn.write_id(table)
    txn.insert(table, "month=1")
    position = txn.commit().position
    answered_s = time.perf_counter()
    reads.wait(position, VISIBLE_MS)
    return (time.perf_counter() - answered_s) * 1000
