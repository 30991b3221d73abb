"""Delivery: one receiver, and how far it has come in the log.

A delivery follows the log by itself, with a fold whose rows are messages. Its store takes the place
in the log only after the receiver has the messages up to there: so each message is delivered at
least once, in the order of the log, and no delivery waits for another one. While a receiver does
not take a message, its delivery waits and tries again; the log keeps what comes meanwhile.
"""

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event as Signal
from typing import Final

from ledger.backup.images.starting import BY_TRIM, StartImages, start_at
from ledger.clock import Clock, SystemClock
from ledger.core.events.events import Body
from ledger.errors import IncompatibleError, LogDamagedError
from ledger.log.checkpoints import dump, read_newest
from ledger.log.log_end import last_position
from ledger.log.port import Log, Topic
from ledger.log.trimmed import start_of
from ledger.log_lines import LogLines
from projections.errors import StoreDamagedError, StoreForeignError, StoreVersionError
from projections.fold.fold import FoldMark
from projections.fold.follower import Follower
from projections.fold.lag import Backlog, Lag
from projections.fold.registering import Registration, name_of
from projections.notifier.notices import Notice, notice_of
from projections.notifier.receivers import DeliveryError, Receiver
from projections.rows.applied import Applied
from projections.rows.keys import CHECKPOINT, LOG, number_key, read_value, value
from projections.store.batch import LateChange
from projections.store.port import RowChange, RowsBeneath, RowStore
from projections.store.rocks_store import RocksStore

FORMAT: Final = 1
BEGIN: Final = b"b"
"""The row with the last position that is not told."""
MESSAGE: Final = b"m"
"""The keys of messages, which are never stored."""
RECORDS_PER_BATCH: Final = 200
CHECKPOINT_S: Final = 10.0
PAUSE_S: Final = 1.0
PAUSE_MAX_S: Final = 60.0
# A place of another log, of another format, or damaged: a new place is made from its position.
USELESS: Final = (LogDamagedError, StoreForeignError, StoreVersionError, StoreDamagedError)

log_lines = LogLines("lakeledger.notifier")

Form = Callable[[Notice], bytes]
"""Makes the message of a notice."""


class DeliveryStopped(Exception):  # noqa: N818 - no error: the role is being stopped
    """The delivery was stopped while a receiver did not take a message."""


class Delivery:
    """Tells one receiver, from the end that the log has at the first start, or from the beginning.

    Attributes:
        name: the kind of receiver.
        position: the position up to which the receiver has everything.
        delivered: messages that the receiver took since the start.
        refused: how often it did not take one.
        problem: why it takes none now, "" if it does.
        entry: its entry among the processes that follow the log, once it follows.
    """

    def __init__(
        self,
        name: str,
        receiver: Receiver,
        form: Form,
        *,
        place: Path,
        from_first: bool = False,
        pause_s: float = PAUSE_S,
        clock: Clock | None = None,
        images: StartImages = BY_TRIM,
    ) -> None:
        self.name = name
        self.position = self.delivered = self.refused = 0
        self.problem = ""
        self.entry: Registration | None = None
        self.is_caught_up = False
        self._receiver, self._form, self._place = receiver, form, place
        self._from_first, self._pause_s = from_first, pause_s
        self._clock, self._images = clock or SystemClock(), images
        self._begin = self._offset = self._at_ms = 0
        self._backlog: Backlog | None = None
        self._has_begun = False
        self._stop = Signal()

    def run(self, log: Log, stop: Signal) -> None:
        """Tell the receiver until `stop` is set; raises as `Follower.run`."""
        self._stop, self._backlog = stop, Backlog(log)
        try:
            with RocksStore.open(self._place, version=FORMAT) as store:
                self._follow(log, store, 0 if self._from_first else None)
        except USELESS as problem:
            if self._has_begun:
                raise
            log_lines.warning("the place is made anew", to=self.name, problem=str(problem))
        else:
            return
        told = told_in(self._place)
        with RocksStore.rebuild(self._place, version=FORMAT) as store:
            store.publish()
            self._follow(log, store, told)

    def lag(self) -> Lag | None:
        """Return how far the receiver is behind the log; any thread may call."""
        if self._backlog is None:
            return None
        return self._backlog.measure(self._clock, self.position, self._offset, self._at_ms)

    def close(self) -> None:
        """Release the receiver."""
        self._receiver.close()

    def deliver(self, messages: deque[bytes]) -> None:
        """Let the receiver take messages, again and again; raises DeliveryStopped."""
        pause_s = self._pause_s
        while messages:
            before = len(messages)
            try:
                self._receiver.deliver(messages)
            except DeliveryError as problem:
                self._note(problem)
            self.delivered += before - len(messages)
            if messages:
                pause_s = self._pause_s if len(messages) < before else pause_s
                if self._stop.wait(pause_s):
                    raise DeliveryStopped
                pause_s = min(2 * pause_s, PAUSE_MAX_S)
        if self.problem:
            log_lines.info("the receiver takes messages again", to=self.name)
            self.problem = ""

    def _note(self, problem: DeliveryError) -> None:
        self.refused += 1
        if not self.problem:
            log_lines.warning("the receiver takes no message", to=self.name, why=str(problem))
        self.problem = str(problem)

    def _follow(self, log: Log, store: RocksStore, begin: int | None) -> None:
        """Follow a log with the place in a store; a new place begins behind `begin`, None = now."""
        known = store.get(BEGIN)
        if known is None:
            end = last_position(log, 0) if log.ends(Topic.EVENTS)[1] else 0
            known = value(end if begin is None else min(begin, end))
            store.write([(BEGIN, known)])
        self._begin = read_value(known)
        name = f"{self.name}-{name_of(self._place)}"
        self.entry = Registration(log, "notifier", name, self._clock)
        log = self._begun(log, store)
        follower = Follower(
            log,
            DeliveringStore(store, self.deliver),
            rows_of=self._rows_of,
            stepped=lambda _: self._step(follower),
            caught_up=lambda: self._reach_end(follower),
            records_max=RECORDS_PER_BATCH,
            checkpoint_s=CHECKPOINT_S,
            clock=self._clock,
            entry=self.entry,
        )
        try:
            follower.run(self._stop)
            follower.fold.store_checkpoint()
        except DeliveryStopped:
            log_lines.info("stopped before the receiver took all", to=self.name)

    def _begun(self, log: Log, store: RocksStore) -> Log:
        """Let a new place on a trimmed log begin with a state checkpoint; return the log to follow.

        If it must deliver events in front of that, it follows the log with those in a backup.
        """
        if store.get(CHECKPOINT) is not None or start_of(log).mark is None:
            return log
        resumed = start_at(log, read_newest(log, 0), self._images)
        head = resumed.head
        if store.get(LOG) is not None or not 0 < head.position <= self._begin:
            return self._images.whole(log)
        mark = FoldMark(head.position, head.chain.hex(), resumed.offset, log.topic_id(Topic.EVENTS))
        store.write([(CHECKPOINT, dump(*resumed)), (LOG, value(mark))])
        return log

    def _rows_of(self, applied: Applied, body: Body) -> list[LateChange]:
        """Return the message of an event as a row, which the store sends and does not keep."""
        self._has_begun = True
        if applied.control.position <= self._begin:
            return []
        notice = notice_of(applied, body)
        if notice is None:
            return []
        return [(number_key(MESSAGE, notice.position), self._form(notice))]

    def _step(self, follower: Follower) -> None:
        fold = follower.fold
        if fold.position >= fold.mark.position:
            self.position, self._offset, self._at_ms = fold.position, fold.offset, fold.state.at

    def _reach_end(self, follower: Follower) -> None:
        self.is_caught_up = True
        self._step(follower)


class DeliveringStore(RowsBeneath, RowStore):
    """A store whose rows of messages are sent before the others are written; closes no part."""

    _store: RowStore

    def __init__(self, store: RowStore, deliver: Callable[[deque[bytes]], None]) -> None:
        self._store = store
        self._deliver = deliver

    def refresh(self) -> None:
        self._store.refresh()

    def write(self, changes: Sequence[RowChange]) -> None:
        """Send the messages, then write the rest; raises as `Delivery.deliver`."""
        sent = sorted((key, data) for key, data in changes if key.startswith(MESSAGE))
        self._deliver(deque(data for _, data in sent if data is not None))
        self._store.write([change for change in changes if not change[0].startswith(MESSAGE)])

    def close(self) -> None:
        """Do nothing: the caller closes the store."""


def told_in(place: Path) -> int | None:
    """Return the position of the last event in a place that is of no use, None if unknown."""
    try:
        with RocksStore.open(place, version=FORMAT) as store:
            stored = store.get(LOG)
            return None if stored is None else FoldMark(*read_value(stored)).position
    except (StoreVersionError, StoreDamagedError, IncompatibleError, ValueError, TypeError):
        return None
