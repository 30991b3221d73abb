"""Logs of small ledgers that are led, copied to other topics, and lose their ends."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ledger.client import Ledger
from ledger.config.settings import SequencerSettings
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.recovery.survey import Survey, survey
from ledger.testing import InMemoryLedger
from projections.fold.fold import Fold
from projections.store.rocks_store import RocksStore

ALERT = SequencerSettings(suspect_s=0.01, jitter_s=0.01)
WRITES = 5
HEARD_S = 0.01


@contextmanager
def led(log: MemoryLog) -> Iterator[Ledger]:
    """Lead the ledger of a log, and connect to it."""
    with InMemoryLedger(log=log, settings=ALERT) as memory, closing(memory.connect()) as ledger:
        yield ledger


def commits(ledger: Ledger, table: str = "planes", count: int = WRITES) -> list[int]:
    """Commit rows to a table of directories, and return the txns."""
    txns = []
    for _ in range(count):
        with ledger.transaction() as txn:
            txn.write_id(table)
            txn.wrote(table, "insert")
            txns.append(txn.id)
    return txns


def followed(log: MemoryLog, root: Path) -> None:
    """Make rows of all that a log holds."""
    with RocksStore.open(root) as store:
        fold = Fold.load(store, log)
        fold.feed(log.topics[Topic.EVENTS].records[fold.offset :])


def surveyed(log: MemoryLog, store: Path | None = None, **how: Any) -> Survey:
    """Survey a log in memory, where a leader would be heard at once."""
    return survey(log, store, listens_s=HEARD_S, **how)


def copied(log: MemoryLog, keep: int | None = None) -> MemoryLog:
    """Return another cluster's log, of which the events are a copy of the first so many records."""
    copy = MemoryLog()
    for topic in Topic:
        copy.recreate(topic)
    writer = copy.writer(Topic.EVENTS)
    for record in log.topics[Topic.EVENTS].records[:keep]:
        writer.append(record.key, record.value)
    return copy
