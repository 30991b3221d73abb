"""The publisher: reads the events of a ledger from the first on, and writes the published logs.

It keeps no state of its own on disk. A restart makes every version again and finds it written, so a
publisher may end at any point, and several may run at once.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from threading import Event as Signal
from typing import Final

from ledger.clock import Clock, SystemClock
from ledger.core.acceptance import LogHead
from ledger.core.events.events import Event
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor, check_beginning
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log, Topic
from ledger.log.replay import Progress
from ledger.log_lines import LogLines
from ledger.reads.publisher import StoppedStatus
from projections.delta.log_writer import Folders
from projections.delta.object_log import log_at
from projections.delta.publication import Publication, StoppedTable
from projections.delta.table_log import TableLogs
from projections.fold.lag import Backlog, Lag

RECORDS_PER_BATCH: Final = 500
READ_WAIT_S: Final = 0.2
MS_PER_HOUR: Final = 3_600_000

log_lines = LogLines("lakeledger.publisher")


class DeltaPublisher:
    """Writes the versions of published tables; `stopped` are the tables that ended, with why.

    Versions older than `retention_h` hours are deleted, with 0 none.

    Attributes:
        is_caught_up: whether it has come to the end that the log had at its start.
    """

    def __init__(
        self,
        log: Log,
        folders: Folders = log_at,
        *,
        retention_h: float = 0.0,
        clock: Clock | None = None,
        progress: Progress = lambda _read, _end: None,
    ) -> None:
        self._log = log
        self._publication = Publication()
        self._logs = TableLogs(folders, round(retention_h * MS_PER_HOUR))
        self._clock = clock or SystemClock()
        self._backlog = Backlog(log)
        self._progress = progress
        self._offset = 0
        self.is_caught_up = False

    @property
    def written(self) -> int:
        """The number of versions that were not there before."""
        return self._logs.written

    @property
    def position(self) -> int:
        """The position of the last event whose versions are written."""
        return self._publication.state.position

    @property
    def stopped(self) -> Mapping[int, StoppedTable]:
        """The tables that stopped, by id."""
        return self._logs.stopped

    def lag(self) -> Lag:
        """Return how far it is behind the broker's log; any thread may call.

        Raises LogUnavailableError if the broker does not answer.
        """
        at = self._publication.state.at
        return self._backlog.measure(self._clock, self.position, self._offset, at)

    def published(self) -> int:
        """Return how many tables are published now; any thread may call."""
        return sum(log.is_on for log in list(self._publication.logs.values()))

    def stopped_now(self) -> list[StoppedStatus]:
        """Return the tables that should go on and do not; any thread may call."""
        found = []
        for each in list(self._logs.stopped.values()):
            log = self._publication.logs.get(each.table)
            if log is not None and log.is_on:
                behind = log.newest - each.version + 1
                found.append(
                    StoppedStatus(each.table, each.name, each.version, behind, each.reason)
                )
        return found

    def run(self, stop: Signal, caught_up: Callable[[], None] = lambda: None) -> None:
        """Publish until `stop` is set; `caught_up` is called whenever no event waits.

        Raises EventsLostError, LogDamagedError, IncompatibleError or LogUnavailableError when this
        log cannot be followed any further.
        """
        first, end = self._log.ends(Topic.EVENTS)
        check_beginning(first)
        if end == 0:
            check_not_lost(self._log)
        batches = BatchAcceptor(self._log, Acceptor(LogHead()), 0)
        with closing(self._log.reader(Topic.EVENTS, 0)) as reader:
            while not stop.is_set():
                records = reader.read(RECORDS_PER_BATCH, READ_WAIT_S)
                for _, event in batches.events(records):
                    if event is not None:
                        self.take(event)
                self._offset = reader.next_offset()
                if not self.is_caught_up:
                    self._progress(self._offset, end)
                    self.is_caught_up = self._offset >= end
                if not records:
                    caught_up()

    def take(self, event: Event) -> None:
        """Write the versions that an event makes; a table that cannot go on stops alone."""
        for outcome in self._publication.take(event):
            stopped = self._logs.take(outcome)
            if stopped is not None:
                log_lines.error(
                    "a table is not published any further",
                    table=stopped.name,
                    version=stopped.version,
                    reason=stopped.reason,
                )
