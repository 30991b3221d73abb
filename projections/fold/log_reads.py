"""Reads straight from a log: rows in memory, brought to the end of the log at every read.

This needs no follower and has no delay. The rows are made from the first event on, so it suits
short logs, such as the logs of a program's tests.
"""

from typing import Final

from ledger.backup.joined import joined_log
from ledger.errors import LedgerError
from ledger.log.port import Log, LogReader, Topic
from ledger.reads.port import Reads
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.store.port import RowsBeneath

RECORDS_PER_READ: Final = 2_000


def open_reads(log: Log) -> Reads:
    """Return the reads of a log, which threads may share and several clients may close."""
    return StoreReads(LogRows(log))


class LogRows(RowsBeneath):
    """The rows of a log, up to its end at the last refresh; one thread at a time may refresh.

    `close` closes the log's reader, and the next refresh opens it again: several clients share one
    object.
    """

    _store: MemoryStore

    def __init__(self, log: Log) -> None:
        self._log = log
        self._store = MemoryStore()
        self._fold = Fold.load(self._store, log)
        self._events: LogReader | None = None

    def refresh(self) -> None:
        """Make the rows of all events in the log. Raises the errors of reading the log.

        So does the next call, which continues at the failed record.
        """
        try:
            if self._events is None:
                # Each offset behind the first is one that was read, so a trim kept it.
                log = self._log if self._fold.offset else joined_log(self._log)
                self._events = log.reader(Topic.EVENTS, self._fold.offset)
            while records := self._events.read(RECORDS_PER_READ, 0.0):
                self._fold.feed(records)
        except LedgerError:
            self.close()
            raise

    def close(self) -> None:
        """Close the log's reader until the next refresh."""
        if self._events is not None:
            self._events.close()
            self._events = None
