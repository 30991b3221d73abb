"""What the cases of a run share: the log they write to, and a place for each one's ledger.

In memory every case has a log and rows of its own. With Kafka the run has one embedded broker, a
case two topics of it and a RocksDB store; the topics nothing of the history is in are in memory.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import structlog

from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.memory import MemoryLog
from ledger.log.port import Log, LogReader, LogWriter, Topic
from ledger.machine.kafka.broker import Broker
from projections.store.memory import MemoryStore
from projections.store.port import RowStore
from projections.store.rocks_store import RocksStore
from tests.conformance.case_ledger import CaseLedger

IN_HISTORY = (Topic.COMMANDS, Topic.EVENTS)


class Ledgers(Protocol):
    """Makes ledgers, one for each case."""

    def parts(self) -> tuple[Log, RowStore]:
        """Return an empty log and an empty store; who asked closes them."""
        ...

    def new(self) -> CaseLedger:
        """Return a new ledger; who asked closes it."""
        return CaseLedger(*self.parts())


class MemoryLedgers(Ledgers):
    """Ledgers in this process alone."""

    def parts(self) -> tuple[Log, RowStore]:
        return MemoryLog(), MemoryStore()


class KafkaLedgers(Ledgers):
    """Ledgers of one broker, their stores in one folder."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._numbers = count(1)

    def parts(self) -> tuple[Log, RowStore]:
        """Return the log of two topics and a store on disk."""
        name = f"case-{next(self._numbers)}"
        create_topics(self._bootstrap, name)
        log = HistoryLog(KafkaLog(self._bootstrap, name))
        return log, RocksStore.open(self._folder / name)


class HistoryLog:
    """A log that keeps commands and events in Kafka, and everything else in memory."""

    def __init__(self, history: Log) -> None:
        self._history = history
        self._other = MemoryLog()

    def reader(self, topic: Topic, offset: int) -> LogReader:
        return self._log(topic).reader(topic, offset)

    def writer(self, topic: Topic) -> LogWriter:
        return self._log(topic).writer(topic)

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the first offset and the end offset."""
        return self._log(topic).ends(topic, timeout_s)

    def topic_id(self, topic: Topic) -> str:
        return self._log(topic).topic_id(topic)

    def close(self) -> None:
        self._history.close()

    def _log(self, topic: Topic) -> Log:
        return self._history if topic in IN_HISTORY else self._other


@contextmanager
def ledgers(log: str) -> Iterator[Ledgers]:
    """Make ready for a run over `memory` or `kafka`."""
    with only_warnings():
        if log == "memory":
            yield MemoryLedgers()
            return
        with TemporaryDirectory(prefix="lakeledger-conformance-") as folder:
            root = Path(folder)
            with Broker.start(root / "broker") as broker:
                yield KafkaLedgers(broker.bootstrap, root)


@contextmanager
def only_warnings() -> Iterator[None]:
    """Keep the product's log lines off the output of a run, its warnings out of the cases'."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        yield
    finally:
        structlog.reset_defaults()
