"""Entries that follow the log in this process: the cache with the least delay.

It begins with the newest state checkpoint and follows the events topic in a thread of its own.
Entries of all tables exist from the start. The tables not read for the longest time lose their
objects first, and answers of the store replace them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from copy import copy
from threading import Condition, Thread
from threading import Event as Signal
from typing import Any, Final, Protocol, Self

from ledger.clock import Clock
from ledger.core.acceptance import LogHead
from ledger.core.events.events import Event, LedgerCreated, LogCut
from ledger.core.state.domain import DomainState
from ledger.errors import LogDamagedError, LogError, LogRewrittenError, LogUnavailableError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import Checkpoint, read_newest
from ledger.log.port import Log, Record, Topic
from ledger.reads.lineage import Gap, gaps_of
from ledger.reads.metadata import MetadataAnswer
from ledger.reads.port import Identity
from projections.cache.fold import Stored, Wanted, at_one_position, bootstrap
from projections.cache.held import HeldTables
from projections.cache.ids import ReaderIds
from projections.cache.refusal import Refusal
from projections.cache.rows import BYTES_MAX
from projections.cache.source import Entries
from projections.fold.lag import Backlog, Lag

READ_MAX: Final = 2_000
READ_WAIT_S: Final = 0.05
AWAY_PAUSE_S: Final = 0.2


class CacheFold(Protocol):
    """A cache as a fold of the log, for one thread at a time."""

    @property
    def position(self) -> int:
        """The position up to which every event is applied."""

    @property
    def entries(self) -> Mapping[int, Any]:
        """The entries by table id."""

    def apply(self, event: Event) -> Iterable[int]:
        """Apply an accepted event, once; return the tables whose entries it may have changed."""

    def resolve(self, wanted: Wanted) -> Any:
        """Return the entry of a read, None if there is none."""

    def seen_in(self, entry: Any, wanted: Wanted) -> MetadataAnswer:
        """Return what the reader sees in its entry; without a value the store must answer."""

    def fill(self, wanted: Wanted, stored: Stored) -> bool:
        """Keep the store's answer; return whether it was kept."""

    def evict(self, table: int) -> None:
        """Forget the objects of a table."""

    def size(self, table: int) -> int:
        """Return about how many bytes the objects of a table take, 0 if none are held."""

    def length(self, table: int) -> int:
        """Return how many versions of a table are held."""

    def aged(self) -> Sequence[int]:
        """Return the tables with history that a cut may drop."""

    def cut(self, table: int, floor: ReaderIds) -> int:
        """Drop history that only readers need that do not see all of `floor`; return its size."""

    def newest_reads(self, tables: Iterable[int]) -> Sequence[Wanted]:
        """Return a read of each of the tables for the newest reader that its entry serves."""


class FollowedEntries(Entries):
    """The entries of a domain, in at most `bytes_max` bytes of objects, from `start` to `close`.

    They answer no reader before they reach `end`, the end of the log at the start. The caller
    closes the log.
    """

    def __init__(
        self,
        log: Log,
        resumed: Checkpoint,
        end: int,
        *,
        bytes_max: int = BYTES_MAX,
        fold: Callable[[DomainState], CacheFold] = bootstrap,
    ) -> None:
        state, head, offset = resumed
        self._backlog = Backlog(log)
        self._end = end
        # The lag is counted from here: dropped records are read too.
        self._read_to = offset
        self._has_come = False
        self.refusal = Refusal()
        self.tables = HeldTables(bytes_max)
        self._created = state.genesis
        self._gaps = gaps_of(state)
        self._cache = fold(state)
        self._batches = BatchAcceptor(log, Acceptor(head), offset)
        self._at_ms = state.at
        self._applied = 0
        self._ended: Exception | None = None
        self._changed = Condition()
        self._stop = Signal()
        self._thread = Thread(target=self._run, name="lakeledger-cache", daemon=True)
        self._hold(self._cache.entries)

    @classmethod
    def start(
        cls,
        log: Log,
        domain: int = 0,
        *,
        bytes_max: int = BYTES_MAX,
        fold: Callable[[DomainState], CacheFold] = bootstrap,
    ) -> Self:
        """Return entries that follow the log from its newest checkpoint on.

        Raises IncompatibleError for a checkpoint of a later version, LogUnavailableError if the
        broker does not answer.
        """
        resumed = read_newest(log, domain) or Checkpoint(DomainState(), LogHead(), 0)
        end = log.ends(Topic.EVENTS)[1]
        entries = cls(log, resumed, end, bytes_max=bytes_max, fold=fold)
        entries._thread.start()
        return entries

    def identity(self) -> Identity | None:
        created = self._created
        return None if created is None else Identity(created.ledger, created.name, created.domain)

    @property
    def has_come(self) -> bool:
        """Return whether they have reached the end that the log had at the start, and so answer."""
        return self._has_come

    def advance(self, timeout_s: float, beyond: int | None = None) -> None:
        """Wait up to `timeout_s` for a further event, or one after `beyond`."""
        with self._changed:
            self._check()
            if beyond is not None and self._has_come and self._cache.position > beyond:
                return
            before = self._progress()
            self._changed.wait_for(lambda: self._progress() != before, timeout_s)
            self._check()

    def position(self) -> int:
        return self._cache.position

    def at_ms(self) -> int:
        return self._at_ms

    def gaps(self) -> Sequence[Gap]:
        return self._gaps

    def read_many(self, wanted: Sequence[Wanted]) -> list[MetadataAnswer]:
        """Return answers as of one position, the last applied, or a later one of the store.

        Raises the error that ended the following.
        """
        with self._changed:
            self._check()
            if not self._has_come:
                behind = MetadataAnswer(None, "store", self._cache.position, "ahead_of_cache")
                return [behind] * len(wanted)
            answers: list[MetadataAnswer] = []
            for each in wanted:
                entry = self._cache.resolve(each)
                if entry is not None:
                    self.tables.touch(entry.table)
                answers.append(self._cache.seen_in(entry, each))
            return at_one_position(answers, self._cache.position) if len(answers) > 1 else answers

    def fill(self, wanted: Wanted, found: Stored) -> bool:
        with self._changed:
            is_kept = self._cache.fill(wanted, found)
            if is_kept:
                self._hold([found.table])
            return is_kept

    def held(self) -> Sequence[Wanted]:
        with self._changed:
            return self._cache.newest_reads(self.tables.tables())

    def apply(self, event: Event) -> None:
        """Apply the event of this process's own command, before the log brings it again."""
        with self._changed:
            self._take(event)
            self._changed.notify_all()

    def lengths(self) -> Mapping[int, int]:
        with self._changed:
            return {table: self._cache.length(table) for table in self.tables.tables()}

    def aged(self) -> Sequence[int]:
        """Return the tables with history or aborted ids; evicting objects does not change that."""
        with self._changed:
            return self._cache.aged()

    def cut(self, floors: Mapping[int, ReaderIds]) -> int:
        """Drop the history below floors; return how many versions were dropped."""
        with self._changed:
            gone = sum(self._cache.cut(*each) for each in floors.items())
            held = set(self.tables.tables())
            for table in filter(held.__contains__, floors):
                self.tables.resize(table, self._cache.size(table))
            return gone

    def lag(self, clock: Clock) -> Lag:
        """Return how far they are behind; raises LogUnavailableError if that is not known."""
        return self._backlog.measure(clock, self._cache.position, self._read_to, self._at_ms)

    def close(self) -> None:
        """Stop following."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except LogUnavailableError as away:
                self.refusal.note(away)
                self._stop.wait(AWAY_PAUSE_S)
            except Exception as error:  # noqa: BLE001 - a reader must get the error, or it waits in vain
                lost = self._lost() if isinstance(error, LogError) else None
                ended = lost or error
                with self._changed:
                    self._ended = ended
                    self._changed.notify_all()
                return

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
        with closing(self._batches.open()) as events:
            # The last applied record was read again, and matched.
            self.refusal.clear()
            while not self._stop.is_set():
                has_come = self._has_come or events.next_offset() >= self._end
                if has_come and not self._has_come:
                    self._apply([], has_come=True)
                self._take_batch(events.read(READ_MAX, READ_WAIT_S), has_come=has_come)
                self._read_to = events.next_offset()

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

    def _check(self) -> None:
        if self._ended is not None:
            raise copy(self._ended) from self._ended
