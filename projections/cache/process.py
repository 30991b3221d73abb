"""A cache that a process serves: the same questions in the process, over HTTP and in a terminal."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeVar

from ledger.core.refusals import Reason
from ledger.errors import LedgerError, LimitExceededError, ReaderBehindError, UnknownTableError
from ledger.reads.metadata import AT_HAND, Bounds, MetadataAnswer, Read, ReadAt
from ledger.reads.remote.cache import CacheReads, CacheStatus, MismatchRow, ReadCount, VerifiedCache
from ledger.reads.turns import in_time, wait_for
from projections.cache.ports import Lists
from projections.cache.reads import MetadataCache

Known = TypeVar("Known")


class CacheProcess(CacheReads):
    """Answers from a cache, which the caller closes; `lists` serve reads without a list.

    No read waits for longer than `max_wait_ms`.
    """

    def __init__(self, cache: MetadataCache, lists: Lists, *, max_wait_ms: int = 10_000) -> None:
        self.cache = cache
        self._lists = lists
        self._max_wait_ms = max_wait_ms

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[MetadataAnswer]:
        if bounds.max_wait_ms > self._max_wait_ms:
            raise self._too_long()
        return self.cache.metadata(reads, bounds)

    def metadata_at(self, read: ReadAt, bounds: Bounds = AT_HAND) -> MetadataAnswer:
        """Return what a reader with the list of a position, or the newest list, sees.

        The newest list is not older than the token: an older one would hide its change. The read
        also waits for a position that the lists have not reached.
        """
        if bounds.max_wait_ms > self._max_wait_ms:
            raise self._too_long()
        named = read._replace(catalog=read.catalog or self.cache.catalog)
        began_s = monotonic()
        listed = self._listed(named, bounds)
        waited_ms = round((monotonic() - began_s) * 1000)
        left = bounds._replace(max_wait_ms=max(0, bounds.max_wait_ms - waited_ms))
        return self.metadata([listed], left)[0]

    def position(self) -> int:
        self.cache.entries.advance(0.0)
        return self.cache.entries.position()

    def wait(self, position: int, timeout_ms: int) -> int:
        return wait_for(self.position, position, timeout_ms, self.cache.entries.advance)

    def status(self) -> CacheStatus:
        cache, tables = self.cache, self.cache.entries.tables
        lengths, lag = cache.entries.lengths(), known(cache.entries.lag)
        return CacheStatus(
            ledger=known(self._lists.identity),
            position=cache.entries.position(),
            is_loading=cache.entries.is_loading(),
            lag_positions=lag.records if lag is not None else None,
            lag_ms=lag.behind_ms if lag is not None else None,
            entries=len(tables.tables()),
            versions=sum(lengths.values()),
            bytes=tables.bytes_used,
            bytes_max=tables.bytes_max,
            evictions=tables.evictions,
            cut=cache.sampler.cut_versions,
            hit_ratio=cache.hit_ratio(),
            reads=counted(cache),
            fills_kept=cache.fills[True],
            fills_dropped=cache.fills[False],
            waits=cache.waits.count,
            timeouts=cache.waits.timeouts,
            compared=cache.sampler.compared,
            mismatches=cache.sampler.mismatched,
        )

    def warm(self, tables: int) -> None:
        """Read some tables as of now: a new cache holds no tables."""
        for read in self._lists.newest(tables):
            self.metadata([read])

    def verify(self, tables: int) -> VerifiedCache:
        """Compare some of the held tables with the store; if no table is held, read some first."""
        if not self.cache.entries.held():
            self.warm(tables)
        compared, mismatches = self.cache.sampler.compare(tables)
        rows = [
            MismatchRow(
                mismatch.wanted.table or 0, mismatch.wanted.what, mismatch.cached, mismatch.stored
            )
            for mismatch in mismatches
        ]
        return VerifiedCache(compared, rows)

    def close(self) -> None:
        """Do nothing: the caller closes the cache."""

    def _too_long(self) -> LimitExceededError:
        return LimitExceededError(
            f"max_wait_ms must be at most {self._max_wait_ms} here (cache.max_wait_ms); repeat "
            "the read to wait longer",
            reason=Reason.LIMIT_EXCEEDED.value,
        )

    def _listed(self, read: ReadAt, bounds: Bounds) -> Read:
        """Return a read with its list, as soon as the lists have reached token and position."""
        self.cache.check_store()
        least = max(bounds.token, read.position or 0)

        def ask(_left_s: float) -> Read:
            applied = self._lists.position()
            try:
                if applied >= bounds.token:
                    return self._lists.read_at(read)
            except (ReaderBehindError, UnknownTableError):
                if applied >= least:
                    raise
            raise ReaderBehindError(applied, least, bounds.max_wait_ms)

        return in_time(ask, bounds.max_wait_ms)


def known(question: Callable[[], Known]) -> Known | None:
    """Return an answer, None if it is not known now."""
    try:
        return question()
    except LedgerError:
        return None


def counted(cache: MetadataCache) -> list[ReadCount]:
    """Return how many reads were answered, by source and reason."""
    counts = sorted(dict(cache.counts).items())
    return [ReadCount(source, reason, number) for (source, reason), number in counts]
