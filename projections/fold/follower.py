"""The follower: a loop that reads the events topic into a fold, batch after batch.

The follower waits in the broker's fetch, so an idle ledger costs nothing. It also waits for a
broker that is away. Any other error ends the follower with the store at a whole batch, also a
broker that does not answer whether the records read before are still there. The next start compares
store and log before it continues. A line for each event is logged only where the process is
debugged.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Final

from ledger.backup.images.starting import BY_TRIM, StartImages
from ledger.clock import Clock, SystemClock
from ledger.config.settings import CHECKPOINT_S
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log, LogReader, Topic
from ledger.log_lines import LogLines
from ledger.machine.process import freeze_recovered
from ledger.reads.rows import Reached
from projections.errors import StoreError, StoreForeignError, StoreVersionError
from projections.fold.aging import AgingCheckpoint
from projections.fold.fold import Fold, FoldMark, RowsOf, rows_of
from projections.fold.lag import Backlog, Lag
from projections.fold.registering import Registration, name_of
from projections.images.beginning import NO_HOLD, anew_with, log_for, open_begun
from projections.rows.keys import LOG, read_value
from projections.store.port import RowStore
from projections.store.rocks_reader import RocksReader

RECORDS_PER_BATCH: Final = 2_000
READ_WAIT_S: Final = 0.5

Progress = Callable[[int, int], None]
"""Called while catching up, with how many records are read and how many there are."""

log_lines = LogLines("lakeledger.follower")


class Follower:
    """Follows a log into a store; calls `caught_up` once, at the end that the log had at the start.

    `is_caught_up` becomes true at that point. `rows_of` makes the rows; `stepped` is called after
    each batch of at most `records_max` records, with their number. `entry` is its
    entry among the processes that follow the log.
    """

    def __init__(
        self,
        log: Log,
        store: RowStore,
        *,
        progress: Progress = lambda _read, _end: None,
        caught_up: Callable[[], None] = lambda: None,
        stepped: Callable[[int], None] = lambda _count: None,
        rows_of: RowsOf = rows_of,
        records_max: int = RECORDS_PER_BATCH,
        checkpoint_s: float = CHECKPOINT_S,
        clock: Clock | None = None,
        checks_state: bool = False,
        entry: Registration | None = None,
    ) -> None:
        self.fold = Fold.load(store, log, rows_of=rows_of, checks_state=checks_state)
        self.is_caught_up = False
        self._log = log
        self._backlog = Backlog(log)
        self._progress = progress
        self._caught_up = caught_up
        self._stepped, self._records_max = stepped, records_max
        self._clock = clock or SystemClock()
        self._checkpoint = AgingCheckpoint(self.fold, checkpoint_s, clock=self._clock)
        self.entry = entry

    def run(self, stop: Signal) -> None:
        """Follow until `stop` is set.

        Raises EventsLostError, OffsetGoneError, LogDamagedError, IncompatibleError or
        LogUnavailableError when this log cannot be followed any further.
        """
        self.catch_up(stop)
        with closing(self._log.reader(Topic.EVENTS, self.fold.offset)) as events:
            while not stop.is_set():
                self._step(events)

    def catch_up(self, stop: Signal) -> None:
        """Follow to the present end of the log, or until `stop` is set; raises as `run`."""
        self._note()
        first, end = self._log.ends(Topic.EVENTS)
        if end == 0:
            # Rows of an empty log must not replace the last copy of lost events.
            check_not_lost(self._log)
        self.fold.check_log(first, end)
        log_lines.info(
            "following",
            rows_up_to=self.fold.mark.position,
            state_up_to=self.fold.position,
            from_record=self.fold.offset,
            records=end,
        )
        with closing(self._log.reader(Topic.EVENTS, self.fold.offset)) as events:
            while self.fold.offset < end and not stop.is_set():
                self._step(events)
                self._progress(self.fold.offset, end)
        if not stop.is_set():
            self._caught_up()
            self.is_caught_up = True
            log_lines.info("caught up", position=self.fold.position)

    def lag(self) -> Lag:
        """Return how far the rows are behind the broker's log; any thread may call.

        Raises LogUnavailableError if the broker does not answer.
        """
        fold = self.fold
        mark = fold.mark.position
        return self._backlog.measure(self._clock, mark, fold.offset, fold.state.at)

    def _step(self, events: LogReader) -> None:
        records = events.read(self._records_max, READ_WAIT_S)
        if records:
            self.fold.feed(records)
        self._checkpoint.replace_if_old()
        self._note()
        self._stepped(len(records))

    def _note(self) -> None:
        if self.entry is not None:
            self.entry.note(self.fold.checkpointed)


def follow(
    log: Log,
    root: Path,
    stop: Signal,
    *,
    rebuild: bool = False,
    checkpoint_s: float = CHECKPOINT_S,
    progress: Progress = lambda _read, _end: None,
    started: Callable[[Follower], None] = lambda _follower: None,
    checks_state: bool = False,
    images: StartImages = BY_TRIM,
) -> None:
    """Follow a log into the store at `root` until `stop` is set.

    With `rebuild` the rows are made anew from the beginning of the log, beside the old ones;
    readers move over once the new rows have caught up. So are rows of an older format. New rows
    begin with those of an image, if there is one in `images`. `started` receives the follower.
    """
    make = anew_with if rebuild or has_older_rows(log, root) else open_begun
    entry = Registration(log, "follower", name_of(root), SystemClock())
    with make(log, root, images, hold=entry.hold) as store:

        def caught_up() -> None:
            store.publish()
            freeze_recovered()

        follower = Follower(
            log_for(store, log, images),
            store,
            progress=progress,
            caught_up=caught_up,
            checkpoint_s=checkpoint_s,
            checks_state=checks_state,
            entry=entry,
        )
        started(follower)
        follower.run(stop)


def has_older_rows(log: Log, root: Path) -> bool:
    """Return whether the store at `root` has rows of an older format, all of which the log holds.

    Raises LogDamagedError for older rows of events that the log lost, since they may be the last
    copy, and StoreForeignError for older rows of another log.
    """
    try:
        RocksReader.open(root).close()
    except StoreVersionError as other:
        if other.found > other.wanted:
            return False
        check_former(log, root, other.found)
        log_lines.info("making the rows anew", format=other.wanted, former_format=other.found)
        return True
    except StoreError:
        return False  # Opening the store for writing repairs it or reports it.
    return False


def check_former(log: Log, root: Path, version: int) -> None:
    """Check that the log holds the events of older rows; raises as `has_older_rows`."""
    from ledger.machine.former_rows import check_reached  # noqa: PLC0415 - seldom needed

    with closing(RocksReader.open(root, version=version)) as rows:
        stored = rows.get(LOG)
    if stored is None:
        return
    mark = FoldMark(*read_value(stored))
    topic = log.topic_id(Topic.EVENTS)
    if mark.topic != topic:
        check_not_lost(log, rows=[f"these rows go up to position {mark.position}"])
        raise StoreForeignError(mark.topic, topic)
    check_reached(Reached(mark.position, mark.chain, mark.offset), str(root), log)


def rebuild(
    log: Log,
    root: Path,
    stop: Signal,
    *,
    progress: Progress = lambda _read, _end: None,
    images: StartImages = BY_TRIM,
    entry: Registration | None = None,
) -> None:
    """Make the rows at `root` anew, up to the present end of the log.

    `entry` is that of their process among those that follow the log. Readers keep the old rows
    until then. If `stop` is set before, the old rows stay. Raises as
    `Follower.run`, and as `anew_with`.
    """
    with anew_with(log, root, images, hold=NO_HOLD if entry is None else entry.hold) as store:
        whole = log_for(store, log, images)
        follower = Follower(whole, store, progress=progress, caught_up=store.publish, entry=entry)
        follower.catch_up(stop)
