"""Entries that follow the log in this process: the cache with the least delay.

It begins with the newest state checkpoint and follows the events topic in a thread of its own.
Entries of all tables exist from the start. The tables not read for the longest time lose their
objects first, and answers of the store replace them.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from copy import copy
from threading import Condition, Thread
from threading import Event as Signal
from typing import Final, Self

from ledger.backup.images.starting import BY_TRIM, StartImages, start_at
from ledger.clock import SystemClock
from ledger.core.acceptance import LogHead
from ledger.core.events.events import Event, LedgerCreated, LogCut
from ledger.core.state.domain import DomainState
from ledger.errors import (
    LogDamagedError,
    LogError,
    LogRefusedError,
    LogRewrittenError,
    LogUnavailableError,
)
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import Checkpoint, read_newest
from ledger.log.port import Log, Record, Topic
from ledger.log_lines import LogLines
from ledger.reads.lineage import Gap, gaps_of
from ledger.reads.metadata import MetadataAnswer, Reason
from ledger.reads.port import Identity
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.entries.held import HeldTables
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows import BYTES_MAX
from projections.cache.fold import CacheState, at_one_position
from projections.cache.ports import Entries, EntryRead, StoreAnswer
from projections.fold.lag import Backlog, Lag
from projections.fold.registering import Registration

READ_MAX: Final = 2_000
READ_WAIT_S: Final = 0.05
AWAY_PAUSE_S: Final = 0.2

log_lines: Final = LogLines("lakeledger.cache")


class FollowedEntries(Entries):
    """The entries of a domain, in at most `bytes_max` bytes of objects; the caller closes the log.

    `entry` is their entry among the processes that follow the log, which they leave when closed.

    They answer no read before they reach the end that the log had when they began. Until then each
    read gets a reason: "loading" after `start_loading`, where the store answers at once, and
    "ahead_of_cache" after `start`, where a reader may wait.
    """

    def __init__(
        self,
        log: Log,
        domain: int = 0,
        *,
        bytes_max: int = BYTES_MAX,
        images: StartImages = BY_TRIM,
        entry: Registration | None = None,
    ) -> None:
        self.tables = HeldTables(bytes_max)
        self._log, self._images = log, images
        self._domain = domain
        self._backlog, self.entry = Backlog(log), entry
        self._changed = Condition()
        self._stop = Signal()
        self._thread = Thread(target=self._run, name="lakeledger-cache", daemon=True)
        self._ended: Exception | None = None
        # Why the log cannot be read now. A broker that is away comes back by itself, and the lag
        # shows it; a refusal stays until an operator ends it.
        self._refused: LogRefusedError | None = None
        self._applied = 0
        self._has_come = False
        self._is_begun = False
        self._set(Checkpoint(DomainState(), LogHead(), 0), 0, "loading")

    def start(self) -> Self:
        """Read the newest checkpoint, of the topic or an image, and follow the log from there.

        Raises IncompatibleError for a checkpoint of a later version, LogUnavailableError if the
        broker does not answer, LogTrimmedError for a trimmed log without a checkpoint.
        """
        self._load("ahead_of_cache")
        self._thread.start()
        return self

    def start_loading(self) -> Self:
        """Read the newest checkpoint in the background, and follow the log from there."""
        self._thread.start()
        return self

    def begin(self, resumed: Checkpoint, end: int, reason: Reason = "ahead_of_cache") -> None:
        """Begin at a checkpoint; reads get a reason instead of an answer before `end` is reached.

        `end` is an offset of the log.
        """
        with self._changed:
            self._set(resumed, end, reason)
            self._is_begun = True

    def identity(self) -> Identity | None:
        created = self._created
        return None if created is None else Identity(created.ledger, created.name, created.domain)

    def is_loading(self) -> bool:
        """Return whether they answer no read yet; raises the error that ended them before that."""
        if self._has_come:
            return False
        self.check()
        return True

    def check(self) -> None:
        if self._ended is not None:
            raise copy(self._ended) from self._ended

    def problem(self) -> str:
        """Return why they do not follow: they still load, or an error ended them."""
        try:
            text = f"loading, at position {self.position()}" if self.is_loading() else ""
            self.check()
        except Exception as ended:  # noqa: BLE001 - any error is reported
            return str(ended)
        return ": ".join(filter(None, (text, str(self._refused or ""))))

    def advance(self, timeout_s: float, beyond: int | None = None) -> None:
        """Wait up to `timeout_s` for a further event, or one after `beyond`."""
        with self._changed:
            self.check()
            if beyond is not None and self._has_come and self._cache.position > beyond:
                return
            before = self._progress()
            self._changed.wait_for(lambda: self._progress() != before, timeout_s)
            self.check()

    def position(self) -> int:
        """Return the position of the last event applied, 0 before there is one."""
        return self._cache.position

    def at_ms(self) -> int:
        """Return the time of that event, 0 before there is one."""
        return self._at_ms

    def lag(self) -> Lag | None:
        """Return how far they are behind the log, None before they have begun to follow.

        Raises LogUnavailableError if that is not known, or if the log refuses them.
        """
        refused = self._refused
        if self._is_begun:
            position = self._cache.position
            return self._backlog.measure(SystemClock(), position, self._read_to, self._at_ms)
        if refused is not None:
            raise copy(refused) from refused
        return None

    def gaps(self) -> Sequence[Gap]:
        return self._gaps

    def read_many(self, wanted: Sequence[EntryRead]) -> list[MetadataAnswer]:
        """Return answers as of one position, the last applied, or a later one of the store.

        Raises the error that ended the following.
        """
        if not self._has_come:
            self.check()
            early = MetadataAnswer(None, "store", self._cache.position, self._reason)
            return [early] * len(wanted)
        with self._changed:
            self.check()
            answers: list[MetadataAnswer] = []
            for read in wanted:
                entry = self._cache.resolve(read)
                if entry is not None:
                    self.tables.touch(entry.table)
                answers.append(self._cache.seen_in(entry, read))
            return at_one_position(answers, self._cache.position) if len(answers) > 1 else answers

    def fill(self, wanted: EntryRead, stored: StoreAnswer) -> bool:
        """Keep the store's answer, once they answer reads themselves."""
        if self.is_loading():
            return False
        with self._changed:
            is_kept = self._cache.fill(wanted, stored)
            if is_kept:
                self._hold([stored.table])
            return is_kept

    def held(self) -> Sequence[EntryRead]:
        with self._changed:
            return self._cache.newest_reads(self.tables.tables())

    def lengths(self) -> Mapping[int, int]:
        with self._changed:
            return {table: self._cache.length(table) for table in self.tables.tables()}

    def aged(self) -> Sequence[int]:
        """Return the tables with history or aborted ids; evicting objects does not change that."""
        with self._changed:
            return self._cache.aged()

    def cut(self, floors: Mapping[int, ReaderIds]) -> int:
        with self._changed:
            gone = sum(self._cache.cut(*floor) for floor in floors.items())
            held = set(self.tables.tables())
            for table in filter(held.__contains__, floors):
                self.tables.resize(table, self._cache.size(table))
            return gone

    def close(self) -> None:
        """Stop loading, or following."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.entry is not None:
            self.entry.leave()

    def _set(self, resumed: Checkpoint, end: int, reason: Reason) -> None:
        state, head, offset = resumed
        self._end = end
        self._reason: Reason = reason
        # The lag is counted from here: dropped records are read too.
        self._read_to = offset
        self._created = state.genesis
        self._gaps: Sequence[Gap] = gaps_of(state)
        self._at_ms = state.at
        self._cache = self._fold(state)
        self._batches = BatchAcceptor(self._log, Acceptor(head), offset)
        self._hold(self._cache.entries)

    def _fold(self, state: DomainState) -> CacheState:
        """Return the entries of a state of the domain."""
        return bootstrap(state)

    def _load(self, reason: Reason) -> None:
        if self.entry is not None:
            self.entry.hold()
        newest = read_newest(self._log, self._domain)
        resumed = start_at(self._log, newest, self._images, self._domain)
        self.begin(resumed, self._log.ends(Topic.EVENTS)[1], reason)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if not self._is_begun:
                    self._load("loading")
                self._follow()
            except LogUnavailableError as away:
                self._note_refusal(away)
                self._stop.wait(AWAY_PAUSE_S)
            except Exception as error:  # noqa: BLE001 - a reader must get the error, or it waits in vain
                lost = self._lost() if self._is_begun and isinstance(error, LogError) else None
                ended = lost or error
                with self._changed:
                    self._ended = ended
                    self._changed.notify_all()
                return

    def _note_refusal(self, error: LogUnavailableError) -> None:
        """Record why the log cannot be read; a refusal is logged once."""
        if isinstance(error, LogRefusedError):
            if self._refused is None:
                why = str(error)
                log_lines.warning("the log is refused", error=type(error).__name__, why=why)
            self._refused = error

    def _lost(self) -> LogRewrittenError | None:
        """Return the error if the log no longer holds the events that the entries applied."""
        head = self._batches.acceptor.head
        try:
            self._batches.open().close()
        except LogDamagedError:
            return LogRewrittenError(head.position, head.chain.hex(), "") if head.position else None
        except LogError:
            return None
        return None

    def _follow(self) -> None:
        self._note()
        with closing(self._batches.open()) as events:
            # The last applied record was read again, and matched.
            if self._refused is not None:
                log_lines.info("the log can be read")
                self._refused = None
            while not self._stop.is_set():
                has_come = self._has_come or events.next_offset() >= self._end
                if has_come and not self._has_come:
                    self._apply([], has_come=True)
                self._take_batch(events.read(READ_MAX, READ_WAIT_S), has_come=has_come)
                self._read_to = events.next_offset()
                self._note()

    def _note(self) -> None:
        if self.entry is not None:
            self.entry.note(self._batches.acceptor.head.position)

    def _take_batch(self, records: Sequence[Record], *, has_come: bool) -> None:
        """Apply the events of a batch, also of one that cannot be checked to its end now."""
        accepted: list[Event] = []
        try:
            for _, event in self._batches.events(records):
                if event is not None:
                    accepted.append(event)
        finally:
            # Reading goes on behind them, so they come but once.
            if accepted:
                self._apply(accepted, has_come=has_come)

    def _apply(self, events: Sequence[Event], *, has_come: bool) -> None:
        with self._changed:
            for event in events:
                self._take(event)
                self._at_ms = event.control.at
            self._has_come = has_come
            self._changed.notify_all()

    def _take(self, event: Event) -> None:
        if isinstance(event.body, LedgerCreated):
            self._created = event.body
        elif isinstance(event.body, LogCut):
            self._gaps = [*self._gaps, Gap(event.body.base, event.control.position)]
        self._hold(self._cache.apply(event))
        self._applied += 1

    def _hold(self, tables: Iterable[int]) -> None:
        """Count the bytes of tables again, and evict the excess."""
        for table in tables:
            size = self._cache.size(table)
            if not size:
                self.tables.release(table)
                continue
            for gone in self.tables.hold(table, size):
                self._cache.evict(gone)

    def _progress(self) -> tuple[int, bool, bool]:
        return self._applied, self._has_come, self._ended is not None
