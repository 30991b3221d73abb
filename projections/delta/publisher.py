"""The publisher: follows the events of a ledger, and writes the published logs.

What it keeps on disk saves a restart from reading all events again, and decides nothing. A version
that is made again is found written. So a publisher may end at any point, lose its state, and run
beside others.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

from ledger.clock import Clock, SystemClock
from ledger.config.settings import PublisherSettings
from ledger.core.acceptance import LogHead
from ledger.core.events.events import Event
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor, check_beginning
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log, LogReader, Topic
from ledger.log.replay import Progress, Replay
from ledger.log_lines import LogLines
from ledger.reads.remote.publisher import StoppedStatus
from projections.delta.kept_state import KeptState, ResumedState
from projections.delta.log.log_writer import Folders
from projections.delta.log.object_log import log_at
from projections.delta.log.refused_log import WAITING_BYTES_MAX
from projections.delta.publication import Publication
from projections.delta.published_log import StoppedTable
from projections.delta.table_log import TableLogs, written_logs
from projections.errors import StoreError
from projections.fold.aging import AgingCheckpoint
from projections.fold.lag import Backlog, Lag

RECORDS_PER_BATCH: Final = 500
READ_WAIT_S: Final = 0.2
MS_PER_HOUR: Final = 3_600_000

log_lines = LogLines("lakeledger.publisher")


class PublisherState(NamedTuple):
    """Where a publisher keeps its state, None = nowhere, and how old that may become.

    At most about `waiting_bytes` of each log that its storage refuses wait in memory.
    """

    folder: Path | None = None
    age_s: float = PublisherSettings().checkpoint_s
    waiting_bytes: int = WAITING_BYTES_MAX


class DeltaPublisher:
    """Writes the versions of published tables; `stopped` are the tables that ended, with why.

    Versions older than `retention_h` hours are deleted, with 0 none.

    Attributes:
        is_caught_up: whether it has come to the end that the log had at its start.
        checkpointed: the position of the state that is kept.
    """

    def __init__(
        self,
        log: Log,
        folders: Folders = log_at,
        *,
        state: PublisherState = PublisherState(),  # noqa: B008 - a value
        retention_h: float = 0.0,
        clock: Clock | None = None,
        progress: Progress = lambda _read, _end: None,
    ) -> None:
        self._log, self._folders = log, folders
        self._kept_ms = round(retention_h * MS_PER_HOUR)
        self._publication = Publication()
        self._state = state
        self._logs = self._new_logs()
        self._kept: KeptState | None = None
        self._batches = BatchAcceptor(log, Acceptor(LogHead()), 0)
        self._clock = clock or SystemClock()
        self._backlog = Backlog(log)
        self._progress = progress
        self._offset = 0
        self.is_caught_up = False
        self.checkpointed = 0

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
                is_retried = self._logs.is_retried(each.table)
                found.append(
                    StoppedStatus(
                        each.table, each.name, each.version, behind, each.reason, is_retried
                    )
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
        with ExitStack() as held:
            reader = self._begin(held)
            held.callback(reader.close)
            for lost in self._publication.lost():
                self._logs.take(lost)
            self._publish_again(self._lacking(), stop)
            aging = AgingCheckpoint(self, self._state.age_s, clock=self._clock)
            while not stop.is_set():
                records = reader.read(RECORDS_PER_BATCH, READ_WAIT_S)
                for _, event in self._batches.events(records):
                    if event is not None:
                        self.take(event)
                self._offset = reader.next_offset()
                if not self.is_caught_up:
                    self._progress(self._offset, end)
                    self.is_caught_up = self._offset >= end
                self._retry(stop)
                aging.replace_if_old()
                if not records:
                    caught_up()
            self.store_checkpoint()

    def take(self, event: Event) -> None:
        """Write the versions that an event makes; a table that cannot go on stops alone."""
        for outcome in self._publication.take(event):
            stopped = self._logs.take(outcome, self._clock.monotonic_s())
            if stopped is not None:
                log_lines.error(
                    "a table is not published any further",
                    table=stopped.name,
                    version=stopped.version,
                    reason=stopped.reason,
                    is_retried=self._logs.is_retried(stopped.table),
                )

    def store_checkpoint(self) -> int:
        """Keep the state, so that a restart reads on from here; return its size, 0 if not kept."""
        head = self._batches.acceptor.head
        if self._kept is None or head.position in {self.checkpointed, 0}:
            return 0
        try:
            size = self._kept.save(self._publication, self._logs, head, self._batches.offset)
        except StoreError as problem:
            log_lines.warning("the state is not kept any further", problem=str(problem))
            self._kept = self._publication.changed = None
            return 0
        self.checkpointed = head.position
        return size

    def _new_logs(self) -> TableLogs:
        return TableLogs(self._folders, self._kept_ms, self._state.waiting_bytes)

    def _begin(self, held: ExitStack) -> LogReader:
        """Go on from the state that was kept, or begin; return the reader of the events."""
        if self._state.folder is not None:
            self._kept = KeptState.open(self._state.folder, self._log.topic_id(Topic.EVENTS))
        reader = None
        if self._kept is not None:
            held.callback(self._kept.close)
            reader = self._resume(self._kept)
            self._publication.changed = self._publication.changed or {}
        self._offset = self._batches.offset
        return reader or self._batches.open()

    def _resume(self, kept: KeptState) -> LogReader | None:
        logs = self._new_logs()
        try:
            found: ResumedState | None = kept.load(logs)
        except StoreError as problem:
            log_lines.warning("no state is kept", problem=str(problem))
            self._kept = None
            return None
        if found is None:
            return None
        batches = BatchAcceptor(self._log, Acceptor(found.head), found.offset)
        try:
            reader = batches.open()
        except LogDamagedError as problem:
            log_lines.warning("the state that was kept is of another log", problem=str(problem))
            kept.forget()
            return None
        self._publication, self._logs, self._batches = found.publication, logs, batches
        self.checkpointed = found.head.position
        log_lines.info("going on", position=self.checkpointed, from_record=found.offset)
        return reader

    def _lacking(self) -> set[int]:
        """Return the tables whose logs must be written from the events again."""
        self._logs.look_again()
        on = [table for table, log in self._publication.logs.items() if log.is_on]
        stopped = self._logs.stopped
        return self._logs.lacking() | {
            table for table in on if table not in stopped and self._logs.lacks(table)
        }

    def _retry(self, stop: Signal) -> None:
        """Try again what the storage of tables refused."""
        for name in self._logs.retry(self._clock.monotonic_s()):
            log_lines.info("a table is published again", table=name)
        self._publish_again(self._logs.lacking(), stop)

    def _publish_again(self, tables: Collection[int], stop: Signal) -> None:
        """Write the logs of tables from the events from the first on."""
        if not tables:
            return
        log_lines.info("publishing from the first event on", tables=len(tables))
        events = takewhile(lambda _: not stop.is_set(), Replay(self._log))
        again = written_logs(events, tables, self._folders)
        if stop.is_set():
            return
        for name in self._logs.adopt(again, tables):
            log_lines.info("a table is published again", table=name)
