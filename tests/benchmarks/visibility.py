"""CV and CVS: from the answer to a commit until readers in other processes see it.

One client commits on an otherwise idle ledger and waits for its commit in a store that another
process writes: the follower's for CV, that of the Spark feeder for CVS. The reader is warm.
"""

import tempfile
import time
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Final

from ledger.broker import Broker
from ledger.client import Ledger
from ledger.up import UpSettings, running
from projections.errors import StoreMissingError
from projections.queries import StoreReads, open_reads
from tests.benchmarks.closed_loop import create_table
from tests.benchmarks.figure import Figure, percentile
from tests.benchmarks.waiting import within

COMMITS: Final = 150
WARM_UP: Final = 50
READY_S: Final = 90.0
LOOK_S: Final = 0.1
VISIBLE_MS: Final = 10_000


def measure(broker: Broker) -> list[Figure]:
    """Return CV, at the median and at the 99th percentile."""
    return figures("CV", spent(broker, "visible", with_spark=False), "the follower's store")


def measure_spark(broker: Broker) -> list[Figure]:
    """Return CVS, at the median and at the 99th percentile."""
    return figures("CVS", spent(broker, "visible-spark", with_spark=True), "the Spark feeder's")


def figures(name: str, took_ms: list[float], where: str) -> list[Figure]:
    """Return the figures of one store."""
    note = f"commit answered -> wait() returned in {where}, {len(took_ms)} commits, idle otherwise"
    return [
        Figure(name, round(percentile(took_ms, 0.5), 2), "ms p50", note=note),
        Figure(f"{name}-p99", round(percentile(took_ms, 0.99), 2), "ms p99", note=note),
    ]


def spent(broker: Broker, ledger: str, *, with_spark: bool) -> list[float]:
    """Return the milliseconds until each commit was seen."""
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
            took_ms = [commit_to_visible(client, reads, table) for _ in range(WARM_UP + COMMITS)]
            return took_ms[WARM_UP:]


def opened(store: Path) -> StoreReads:
    """Return the reads of a store as soon as it is there."""
    never = Signal()
    for _ in within(READY_S, f"a store at {store}"):
        try:
            return open_reads(store)
        except StoreMissingError:
            never.wait(LOOK_S)
    raise AssertionError("waiting ends with a store or an error")


def commit_to_visible(client: Ledger, reads: StoreReads, table: int) -> float:
    """Commit, and return the milliseconds until the store shows it."""
    txn = client.begin()
    txn.write_id(table)
    txn.insert(table, "month=1")
    position = txn.commit().position
    answered_s = time.perf_counter()
    reads.wait(position, VISIBLE_MS)
    return (time.perf_counter() - answered_s) * 1000
