"""The publisher: a projection that follows the events of a ledger, and writes the published logs.

Its rows save a restart from reading all events again, and decide nothing. A version that is made
again is found written. So a publisher may end at any point, lose its rows, and run beside others.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from itertools import takewhile
from math import inf
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

from ledger.backup.images.starting import BY_TRIM, StartImages
from ledger.clock import Clock, SystemClock
from ledger.config.settings import PublisherSettings
from ledger.core.events.events import Body
from ledger.core.state.domain import DomainState
from ledger.errors import IncompatibleError, LogDamagedError, LogTrimmedError
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log, Topic
from ledger.log.replay import Progress, Replay
from ledger.log_lines import LogLines
from ledger.reads.remote.publisher import StoppedStatus
from projections.delta.kept_rows import open_rows, rows_anew, rows_in_memory
from projections.delta.log.log_writer import Folders
from projections.delta.log.object_log import log_at
from projections.delta.publication import Publication
from projections.delta.published_log import StoppedTable
from projections.delta.table_log import WAITING_BYTES_MAX, TableLogs
from projections.errors import StoreDamagedError, StoreError
from projections.fold.follower import Follower
from projections.fold.lag import Backlog, Lag
from projections.fold.registering import Registration, name_of
from projections.images.beginning import log_for
from projections.rows.applied import Applied
from projections.store.batch import LateChange
from projections.store.memory import MemoryStore
from projections.store.port import RowStore

MS_PER_HOUR: Final = 3_600_000
# It ends between two batches, and a storage may take long for each version.
RECORDS_PER_BATCH: Final = 500
# Rows that are damaged, come from another log, or end before a trimmed log begins.
USELESS: Final = (
    *(LogDamagedError, LogTrimmedError, IncompatibleError, StoreDamagedError),
    *(KeyError, TypeError, ValueError),
)
# Rows on a disk may wait for a storage that is away for days.
WAITING_BYTES_KEPT: Final = 1 << 30

log_lines = LogLines("lakeledger.publisher")


class PublisherState(NamedTuple):
    """Where a publisher keeps its rows, None = nowhere, and how old their checkpoint may become.

    Without a folder at most about `waiting_bytes` of each log wait that takes no version.
    """

    folder: Path | None = None
    age_s: float = PublisherSettings().checkpoint_s
    waiting_bytes: int = WAITING_BYTES_MAX


class DeltaPublisher:
    """Writes the versions of published tables; `stopped` are the tables that ended, with why.

    Versions older than `retention_h` hours are deleted, with 0 none. Without rows of its own it
    begins with those of an image, if there is one in `images`.

    Attributes:
        position: the position of the last event whose versions are written.
        is_caught_up: whether it has come to the end that the log had at its start.
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
        images: StartImages = BY_TRIM,
    ) -> None:
        self._log, self._folders, self._images = log, folders, images
        self._kept_ms = round(retention_h * MS_PER_HOUR)
        self._state = state
        self._clock = clock or SystemClock()
        name = None if state.folder is None else name_of(state.folder)
        self.entry = None if name is None else Registration(log, "publisher", name, self._clock)
        self._backlog = Backlog(log)
        self._progress = progress
        self._publication, self._logs = Publication(), TableLogs(MemoryStore())
        self._follower: Follower | None = None
        self._stop = Signal()
        self._none_waits: Callable[[], None] = lambda: None
        self._is_kept = self._is_begun = False
        self._lacking: set[int] = set()
        self.position = self._offset = self._at_ms = 0
        self.is_caught_up = False

    @property
    def written(self) -> int:
        """The number of versions that were not there before."""
        return self._logs.written

    @property
    def checkpointed(self) -> int:
        """The position of the rows with which a restart begins."""
        return 0 if self._follower is None else self._follower.fold.checkpointed

    @property
    def stopped(self) -> Mapping[int, StoppedTable]:
        """The tables that stopped, by id."""
        return self._logs.stopped

    def lag(self) -> Lag:
        """Return how far it is behind the broker's log; any thread may call.

        Raises LogUnavailableError if the broker does not answer.
        """
        return self._backlog.measure(self._clock, self.position, self._offset, self._at_ms)

    def published(self) -> int:
        """Return how many tables are published now; any thread may call."""
        return sum(log.is_on for log in list(self._publication.logs.values()))

    def waiting_ms(self) -> int:
        """Return for how long rows in the log wait for readers, 0 for none; any thread may call."""
        logs = list(self._publication.logs.values())
        since = [log.waits_since for log in logs if log.is_on and log.waits_since]
        return max(0, self._clock.now_ms() - min(since)) if since else 0

    def stopped_now(self) -> list[StoppedStatus]:
        """Return the tables that should go on and do not; any thread may call."""
        found = []
        for table, each in self._logs.stopped.items():
            log = self._publication.logs.get(table)
            if log is not None and log.is_on:
                behind, is_retried = log.newest - each.version + 1, self._logs.is_retried(table)
                found.append(
                    StoppedStatus(table, each.name, each.version, behind, each.reason, is_retried)
                )
        return found

    def run(self, stop: Signal, caught_up: Callable[[], None] = lambda: None) -> None:
        """Publish until `stop` is set; `caught_up` is called whenever no event waits.

        Raises EventsLostError, LogDamagedError, IncompatibleError or LogUnavailableError when this
        log cannot be followed any further.
        """
        if self._log.ends(Topic.EVENTS)[1] == 0:
            check_not_lost(self._log)
        self._stop, self._none_waits, self._is_begun = stop, caught_up, False
        folder = self._state.folder
        try:
            if folder is not None:
                self._follow_kept(folder)
                return
        except StoreError as problem:
            log_lines.warning("no state is kept", problem=str(problem))
            self._follower = None
        if self._follower is None:
            self._hold()
            self._begin(rows_in_memory(self._log, self._images))
        self._follow()

    def store_checkpoint(self) -> int:
        """Let a restart read on from here; return the size of the checkpoint, 0 if not stored."""
        return 0 if self._follower is None else self._follower.fold.store_checkpoint()

    def _follow_kept(self, folder: Path) -> None:
        """Follow with the rows in a folder, made anew if they are of no use."""
        with ExitStack() as held:
            try:
                rows = open_rows(folder, self._log, self._images, self._hold)
                self._begin(held.enter_context(rows))
                return self._follow()
            except USELESS as problem:
                if self._is_begun:
                    raise
                log_lines.warning("the state is made anew", problem=str(problem))
        with rows_anew(folder, self._log, self._images, self._hold) as store:
            self._begin(store)
            return self._follow()

    def _hold(self) -> None:
        if self.entry is not None:
            self.entry.hold()

    def _begin(self, store: RowStore) -> None:
        """Go on from the rows of a store."""
        self._is_kept, self._is_begun = not isinstance(store, MemoryStore), False
        bytes_max = WAITING_BYTES_KEPT if self._is_kept else self._state.waiting_bytes
        self._publication = Publication.load(store)
        written = self._logs.written
        self._logs = TableLogs(store, self._folders, self._kept_ms, bytes_max)
        self._logs.written = written
        self._follower = Follower(
            log_for(store, self._log, self._images),
            store,
            progress=self._progress,
            caught_up=self._reach_end,
            stepped=self._step,
            rows_of=self._rows_of,
            records_max=RECORDS_PER_BATCH,
            checkpoint_s=self._state.age_s if self._is_kept else inf,
            clock=self._clock,
            entry=self.entry,
        )
        fold = self._follower.fold
        if fold.mark.position:
            log_lines.info("going on", position=fold.mark.position, from_record=fold.mark.offset)

    def _follow(self) -> None:
        assert self._follower is not None, "it has begun"
        try:
            self._follower.run(self._stop)
        finally:
            if self._is_begun:
                self._logs.write(self._clock.monotonic_s())
        if self._is_kept:
            self.store_checkpoint()

    def _rows_of(self, applied: Applied, body: Body) -> list[LateChange]:
        """Return the rows of an event: its tables, unless nothing is kept, and what waits."""
        self._begin_logs(applied.state)
        outcomes, rows = self._publication.take(applied, body)
        waiting = (row for outcome in outcomes for row in self._logs.take(outcome))
        return [*rows, *waiting] if self._is_kept else [*waiting]

    def _begin_logs(self, domain: DomainState) -> None:
        """Look once what the logs lack, and what they have that the ledger lost."""
        if self._is_begun:
            return
        self._is_begun = True
        for lost in self._publication.lost(domain):
            self._logs.take(lost)
        logs = self._publication.logs.items()
        self._lacking = {
            table for table, log in logs if log.is_on and self._logs.lacks(table, log.newest)
        }

    def _step(self, count: int) -> None:
        """Write what waits, unless events are only read again."""
        assert self._follower is not None, "it has begun"
        fold = self._follower.fold
        if fold.position < fold.mark.position:
            return
        self._begin_logs(fold.state)
        self._logs.keep(self._publication.logs)
        self._logs.write(self._clock.monotonic_s())
        self._write_again(self._lacking | self._logs.lacking())
        self._lacking = set()
        self.position, self._offset, self._at_ms = fold.position, fold.offset, fold.state.at
        if not count and self.is_caught_up:
            self._none_waits()

    def _reach_end(self) -> None:
        self.is_caught_up = True
        self._step(0)

    def _write_again(self, tables: Collection[int]) -> None:
        """Write the logs of tables from the events from the first on."""
        if not tables:
            return
        log_lines.info("publishing from the first event on", tables=len(tables))
        whole = Replay(self._images.whole(self._log))
        events = takewhile(lambda _: not self._stop.is_set(), whole)
        self._logs.write_again(events, tables, self._clock.monotonic_s())
