"""The metadata cache as its readers see it: a table, a list, an answer and where it came from.

A reader with a list gets exactly the state of its list: from the entries if they hold it, after a
bounded wait if they are only behind, else from the store. Only the store answers that a table does
not exist. A reader of an external table has no list: it gets the present state, or with a token or
a bound on the lag, a state that is new enough. If it does bring a list, the store answers.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import accumulate
from os import getpid
from pathlib import Path
from socket import gethostname
from threading import Lock
from time import monotonic
from typing import Final, Self

from ledger.clock import Clock, SystemClock
from ledger.core.lists.text import ID_MAX
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.definitions.client_reads import other_ledger
from ledger.errors import ReaderBehindError
from ledger.log.consumers import CACHE
from ledger.log.port import Log
from ledger.reads.errors import check_lists, check_reads, plain_read
from ledger.reads.lineage import check_not_left_out
from ledger.reads.metadata import (
    AT_HAND,
    MAX_WAIT_MS,
    TABLE,
    Bounds,
    MetadataAnswer,
    MetadataReads,
    Policy,
    Read,
    Reason,
    Source,
)
from ledger.reads.turns import in_time
from ledger.reads.whole_numbers import whole_number
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows import BYTES_MAX, RowEntries
from projections.cache.following import FollowedEntries
from projections.cache.ports import Entries, EntryRead, StoreAnswer
from projections.cache.sampling import Sampler
from projections.cache.store import RowMetadataStore
from projections.fold.registering import Registration
from projections.store.port import RowReader
from projections.store.rocks_reader import RocksReader

# A longer wait is split: no lock waits for an arbitrary time.
ADVANCE_S: Final = 60.0
# The reasons for which waiting may help: the entries are behind.
BEHIND: Final[frozenset[Reason]] = frozenset({"ahead_of_cache", "pending", "token"})
# The bounds of the histogram of waits.
WAIT_BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class MetadataCache(MetadataReads):
    """Answers reads from entries, or else from a store; threads may share it.

    Attributes:
        catalog: the catalog of names.
        counts: how many reads were answered, by source and reason.
        fills: how many answers of the store were kept, and how many not.
        waits: how long readers waited for the entries.
        sampler: compares the entries with the store, and drops unneeded versions.
    """

    def __init__(
        self, entries: Entries, store: RowMetadataStore, catalog: str, *, clock: Clock | None = None
    ) -> None:
        self.entries = entries
        self.counts: Counter[tuple[Source, Reason]] = Counter()
        self.fills: Counter[bool] = Counter()
        self.waits = Waits()
        self._counting = Lock()
        self._store = store
        self._is_one_ledger = False
        self.catalog = catalog
        self._clock = clock or SystemClock()
        self.sampler = Sampler(entries, store, self.check_store)

    @classmethod
    def open(
        cls, path: Path, catalog: str, *, store: Path | None = None, bytes_max: int = BYTES_MAX
    ) -> Self:
        """Return the cache over the rows at `path`, which a follower or a feeder writes.

        Misses go to the store at `store`, or to the same rows. Raises StoreMissingError.
        """
        with ExitStack() as opened:
            rows = opened.enter_context(RocksReader.open(path))
            behind = opened.enter_context(RocksReader.open(store or path))
            cache = cls(RowEntries(rows, bytes_max=bytes_max), RowMetadataStore(behind), catalog)
            opened.pop_all()
        return cache

    @classmethod
    def over(cls, rows: RowReader, *, bytes_max: int = BYTES_MAX) -> Self:
        """Return the cache over rows that the caller opened and closes, for reads with catalogs."""
        return cls(RowEntries(rows, bytes_max=bytes_max), RowMetadataStore(rows), "")

    @classmethod
    def following(
        cls, log: Log, store: Path, catalog: str, *, domain: int = 0, bytes_max: int = BYTES_MAX
    ) -> Self:
        """Return a cache that follows the log in this process; misses go to the store at `store`.

        It is among the consumers of the log if its user may write their topic, until it is closed.
        Raises StoreMissingError, and as `FollowedEntries.start`.
        """
        with ExitStack() as opened:
            behind = opened.enter_context(RocksReader.open(store))
            name = f"{gethostname()}-{getpid()}-{store.name}"
            entry = Registration(log, CACHE, name, SystemClock(), domain)
            entries = FollowedEntries(log, domain, bytes_max=bytes_max, entry=entry).start()
            opened.pop_all()
        return cls(entries, RowMetadataStore(behind), catalog)

    def read(
        self,
        table: str | int,
        write_ids: ValidWriteIdList | None,
        *,
        table_id: int | None = None,
        what: str = TABLE,
        own_txn: int = 0,
        token: int | None = None,
        max_wait_ms: int = MAX_WAIT_MS,
        max_lag_ms: int | None = None,
        policy: Policy = "list",
    ) -> MetadataAnswer:
        """Return what a reader of `write_ids` sees of an object of a table.

        Bring `table_id` with a name: names are reused. `own_txn` sees its own changes too, given
        the `token` (a position) of the last change. A `token` must be seen at least. `max_lag_ms`
        is how old the entries may be if the store knows more.

        Raises LogRewrittenError if a cut has left out the change of the token, or the log does not
        hold the events that the entries applied, ReaderBehindError if after `max_wait_ms` neither
        cache nor store has come that far, SettingsError if the store belongs to another ledger,
        ValueError for an impossible table, txn, token, wait, lag or policy and for the list of
        another table, and TypeError for other types.
        """
        read = Read(table, write_ids, table_id, what, own_txn)
        return self.metadata([read], Bounds(token or 0, max_wait_ms, max_lag_ms, policy))[0]

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[MetadataAnswer]:
        """Return several answers as of one position: all from the cache, or all from the store.

        Raises as `read`.
        """
        check_reads(reads, bounds)
        token, least = bounds.token, bounds.token
        if bounds is not AT_HAND:
            token = whole_number("token", bounds.token)
            least = self._least_position(token, bounds.max_lag_ms, bounds.policy)
        wanted = [self._wanted(read, token, least) for read in reads]
        until_s = monotonic() + bounds.max_wait_ms / 1000
        answers = self.entries.read_many(wanted)
        values = [answer.value for answer in answers]
        if None in values:
            answers = self._after_waiting(wanted, answers, until_s)
            values = [answer.value for answer in answers]
        if token:
            check_not_left_out(token, self.entries.gaps())
        if None in values:
            answers = self._instead(reads, wanted, answers, until_s, bounds.max_wait_ms)
        else:
            check_lists(reads, values, self.catalog)
        with self._counting:
            for answer in answers:
                self.counts[answer.source, answer.reason] += 1
        return answers

    def check_store(self) -> None:
        """Check that store and entries are of one ledger, once both know theirs.

        Raises SettingsError if not: positions and ids of one ledger mean nothing in another.
        """
        if self._is_one_ledger:
            return
        own, behind = self.entries.identity(), self._store.identity()
        if own is None or behind is None:
            return
        if own != behind:
            raise other_ledger(behind, f"the cache is one of ledger {own.name} ({own.ledger})")
        self._is_one_ledger = True

    def hit_ratio(self) -> float:
        """Return the share of reads that the cache answered, 1.0 before the first read."""
        # Other threads go on counting meanwhile.
        counts = Counter(dict(self.counts))
        total = counts.total()
        hits = sum(count for (source, _), count in counts.items() if source == "cache")
        return hits / total if total else 1.0

    def position(self) -> int:
        """Return the position the entries have reached."""
        return self.entries.position()

    def close(self) -> None:
        """Close entries and store."""
        self.entries.close()
        self._store.close()

    def _least_position(self, token: int, max_lag_ms: int | None, policy: Policy) -> int:
        """Return the position that must be seen by the token, by the policy and by the lag."""
        if policy != "latest" and (
            max_lag_ms is None or self._clock.now_ms() - self.entries.at_ms() <= max_lag_ms
        ):
            return token
        self.check_store()
        return max(token, self._store.position())

    def _wanted(self, read: Read, token: int, least: int) -> EntryRead:
        """Return a read in the form of entries and store; own changes need a token of their own."""
        table, listed, table_id, what, own_txn, catalog = plain_read(read)
        ids = None if listed is None else ReaderIds.of(listed)
        name = (catalog or self.catalog, table) if isinstance(table, str) else None
        number = table_id if isinstance(table, str) else table
        needed = 0 if own_txn and not token else least
        return EntryRead(name, ids, number, what, own_txn, needed)

    def _after_waiting(
        self, wanted: Sequence[EntryRead], answers: list[MetadataAnswer], until_s: float
    ) -> list[MetadataAnswer]:
        """Return later answers of the entries, if waiting may bring all that is missing."""
        began_s, has_waited = monotonic(), False
        while True:
            missed = [pair for pair in zip(wanted, answers, strict=True) if pair[1].value is None]
            left_s = until_s - monotonic()
            if not missed or left_s <= 0 or not all(may_come(*pair) for pair in missed):
                break
            has_waited = True
            self.entries.advance(min(left_s, ADVANCE_S), answers[0].position)
            answers = self.entries.read_many(wanted)
        if has_waited:
            with self._counting:
                self.waits.note(monotonic() - began_s, in_vain=bool(missed) and left_s <= 0)
        return answers

    def _instead(
        self,
        reads: Sequence[Read],
        wanted: Sequence[EntryRead],
        answers: Sequence[MetadataAnswer],
        until_s: float,
        max_wait_ms: int,
    ) -> list[MetadataAnswer]:
        """Return the store's answers to all reads, since the entries cannot answer some."""
        stored = self._from_store(wanted, until_s, max_wait_ms)
        # The store may hold rows from before a cut until they are made anew.
        check_not_left_out(stored[0].position if stored else 0, self.entries.gaps())
        values = [found.value(read.what) for read, found in zip(wanted, stored, strict=True)]
        # Check before the entries keep an answer: they would take ids of another table for its own.
        check_lists(reads, values, self.catalog)
        missed = next(answer.reason for answer in answers if answer.value is None)
        instead: list[MetadataAnswer] = []
        for read, found, value, answer in zip(wanted, stored, values, answers, strict=True):
            reason = missed if answer.value is not None else answer.reason
            instead.append(MetadataAnswer(value, "store", found.position, reason))
            if answer.value is None:
                is_kept = self.entries.fill(read, found)
                with self._counting:
                    self.fills[is_kept] += 1
        return instead

    def _from_store(
        self, wanted: Sequence[EntryRead], until_s: float, max_wait_ms: int
    ) -> Sequence[StoreAnswer]:
        """Return the store's answers to all reads, once it has come that far."""
        self.check_store()

        def ask(_left_s: float) -> Sequence[StoreAnswer]:
            answers = self._store.read_many(wanted)
            for read, stored in zip(wanted, answers, strict=True):
                if is_behind(read, stored):
                    least = max(read.token, stored.position + 1)
                    raise ReaderBehindError(stored.position, least, max_wait_ms)
            return answers

        return in_time(ask, max_wait_ms, until_s=until_s)


class Waits:
    """How long readers waited, as a histogram.

    `timeouts` counts the waits in vain, `seconds` is the sum of all.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.timeouts = 0
        self._counts = [0] * (len(WAIT_BOUNDS_S) + 1)

    @property
    def count(self) -> int:
        """The number of waits."""
        return sum(self._counts)

    def note(self, seconds: float, *, in_vain: bool) -> None:
        """Count one wait."""
        self._counts[bisect_left(WAIT_BOUNDS_S, seconds)] += 1
        self.seconds += seconds
        self.timeouts += in_vain

    def buckets(self) -> list[tuple[str, float]]:
        """Return the number of waits up to each bound, as Prometheus writes it."""
        names = [*map(str, WAIT_BOUNDS_S), "+Inf"]
        return list(zip(names, map(float, accumulate(self._counts)), strict=True))


def may_come(wanted: EntryRead, answer: MetadataAnswer) -> bool:
    """Return whether the entries may answer later; a list of all possible ids never ends."""
    is_endless = wanted.ids is not None and wanted.ids.hwm == ID_MAX
    is_vain = is_endless or (wanted.own_txn and not wanted.token)
    return answer.reason in BEHIND and not is_vain


def is_behind(wanted: EntryRead, stored: StoreAnswer) -> bool:
    """Return whether the store is behind the state that a reader must see."""
    if stored.position < wanted.token:
        return True
    is_endless = wanted.ids is None or wanted.ids.hwm == ID_MAX
    return stored.can_settle and not (stored.is_settled or is_endless)
