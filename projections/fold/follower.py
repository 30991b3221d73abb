"""The follower: a loop that reads the events topic into a fold, batch after batch.

It waits in the broker's fetch, so an idle ledger costs nothing, and a broker that is away is waited
for. Whatever else goes wrong ends the follower with the store at a whole batch, also a broker that
does not say whether what was read is still there; the next start compares store and log before it
goes on. Nothing is logged for single events or batches.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Final

import structlog

from ledger.clock import Clock, SystemClock
from ledger.config.settings import CHECKPOINT_S
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log, LogReader, Topic
from ledger.machine.process import freeze_recovered
from projections.fold.aging import AgingCheckpoint
from projections.fold.fold import Fold
from projections.fold.lag import Backlog, Lag
from projections.store.port import RowStore
from projections.store.rocks_store import RocksStore

RECORDS_PER_BATCH: Final = 2_000
READ_WAIT_S: Final = 0.5

Progress = Callable[[int, int], None]
"""Told while catching up how many records are read and how many there are."""

log_lines = structlog.get_logger("lakeledger.follower")


class Follower:
    """Follows a log into a store; `caught_up` is called once, at what was the end at the start.

    `is_caught_up` says whether that was.
    """

    def __init__(
        self,
        log: Log,
        store: RowStore,
        *,
        progress: Progress = lambda _read, _end: None,
        caught_up: Callable[[], None] = lambda: None,
        checkpoint_s: float = CHECKPOINT_S,
        clock: Clock | None = None,
        checks_state: bool = False,
    ) -> None:
        self.fold = Fold.load(store, log, checks_state=checks_state)
        self.is_caught_up = False
        self._log = log
        self._backlog = Backlog(log)
        self._progress = progress
        self._caught_up = caught_up
        self._clock = clock or SystemClock()
        self._checkpoint = AgingCheckpoint(self.fold, checkpoint_s, clock=self._clock)

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
        """Follow to what is the end of the log now, or until `stop` is set; raises as `run`."""
        first, end = self._log.ends(Topic.EVENTS)
        if end == 0:
            # Rows that are made anew would take the place of the last that are left.
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
        """Return how far the rows are behind, asked of the broker now; any thread may ask.

        Raises LogUnavailableError when it does not answer: then nobody knows.
        """
        fold = self.fold
        mark = fold.mark.position
        return self._backlog.measure(self._clock, mark, fold.offset, fold.state.at)

    def _step(self, events: LogReader) -> None:
        records = events.read(RECORDS_PER_BATCH, READ_WAIT_S)
        if records:
            self.fold.feed(records)
        self._checkpoint.replace_if_old()


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
) -> None:
    """Follow a log into the store at `root` until `stop` is set: what a follower process does.

    With `rebuild` the rows are made anew from the beginning of the log beside those that are there;
    readers move over once the new ones have caught up. `started` is given what follows.
    """
    make = RocksStore.rebuild if rebuild else RocksStore.open
    with make(root) as store:

        def caught_up() -> None:
            store.publish()
            freeze_recovered()

        follower = Follower(
            log,
            store,
            progress=progress,
            caught_up=caught_up,
            checkpoint_s=checkpoint_s,
            checks_state=checks_state,
        )
        started(follower)
        follower.run(stop)


def rebuild(
    log: Log, root: Path, stop: Signal, *, progress: Progress = lambda _read, _end: None
) -> None:
    """Make the rows at `root` anew, up to what is the end of the log now.

    Readers keep the old ones until then, and for good if `stop` is set before. Raises as
    `Follower.run`, and as `RocksStore.rebuild`.
    """
    with RocksStore.rebuild(root) as store:
        Follower(log, store, progress=progress, caught_up=store.publish).catch_up(stop)
