"""Rows of the cache topic: the rows that another host published, read into memory.

Rows change by whole batches only, each closed by a marker, so they are always those of one position
of the feeder's store. Compaction complicates that. A record that is missing was replaced by a
later one of its key, which may lie behind the next marker: at that marker the rows would be a
mixture of two positions. So if offsets are missing, no marker counts before one at or beyond the
end that the topic had afterwards: by then all replacements have been read. A reader that had rows
already begins anew: a deleted row may have lost even its tombstone. A read that takes longer than
tombstones are kept may also miss a deletion: it begins anew after half that time, and also if the
topic was created anew.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from threading import RLock
from typing import Final, Self

from ledger.clock import Clock, SystemClock
from ledger.errors import (
    LedgerError,
    LogRewrittenError,
    LogUnavailableError,
    OffsetGoneError,
    TopicMissingError,
)
from ledger.log.kafka.topic_settings import SETTINGS
from ledger.log.port import Log, LogReader, Record, Topic
from ledger.log_lines import LogLines
from ledger.reads.lineage import Gap
from projections.cache.entries.rows import BYTES_MAX, RowEntries
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from projections.cache.topic.topic import KINDS, Gathered, Marker, rows_held
from projections.errors import (
    CacheTopicMissingError,
    NothingPublishedError,
    PublishedLoadingError,
    StoreVersionError,
)
from projections.fold.fold import FoldMark
from projections.reads import lookups
from projections.rows.keys import HISTORY, number_key
from projections.store.memory import MemoryStore
from projections.store.port import FORMAT_VERSION, RowReader, RowsBeneath

READ_TOGETHER: Final = 10_000
FIRST_READ_S: Final = 5.0
FIRST_READ_MAX_MS: Final = int(SETTINGS[Topic.CACHE]["delete.retention.ms"]) // 2
AGAIN_S: Final = 10.0

log_lines = LogLines("lakeledger.published")
process_lines = LogLines("lakeledger.cache")


def open_published(log: Log, catalog: str, *, bytes_max: int = BYTES_MAX) -> MetadataCache:
    """Return the metadata cache over the published rows of a log.

    Misses go to the same rows; entries and store take turns with them. Raises as
    `PublishedRows.read_whole`.
    """
    rows = PublishedRows.read_whole(log)
    entries = RowEntries(rows, bytes_max=bytes_max, turn=rows.turn, compare=rows.check_lineage)
    return MetadataCache(entries, RowMetadataStore(rows, turn=rows.turn), catalog)


class PublishedRows(RowsBeneath):
    """The rows of metadata of another host. Nothing is read before `open`.

    One thread opens them; the others hold `turn` while they use them.

    Attributes:
        mark: the end of the rows.
        has_come: whether the topic was read to the end that it had at the start, and has rows.
        next_offset: the first offset not read.
        end: that end of the topic.
        trouble: why the topic cannot be read now, None if it can.
        lost: the error once a cut of the log left out events that the rows had shown.
    """

    _store: MemoryStore

    def __init__(self, log: Log, *, clock: Clock | None = None) -> None:
        self.mark = FoldMark(0, "", 0, "")
        self.has_come = False
        self.next_offset = self.end = 0
        self.trouble: LedgerError | None = None
        self.lost: LogRewrittenError | None = None
        self.log = log
        self.clock = clock or SystemClock()
        self.turn = RLock()
        self._gaps: Sequence[Gap] = ()
        self._store = MemoryStore()
        self._reader: LogReader | None = None
        self._is_open = False
        self._replaced = 0
        self._again_s = 0.0
        self._refused: LedgerError | None = None
        self._logged = ""

    @classmethod
    def read_whole(cls, log: Log) -> Self:
        """Return the rows after the topic was read to its end; raises as `open` and `refresh`."""
        rows = cls(log)
        try:
            rows.open()
            rows._read_to(rows.end)
        except BaseException:
            rows.close()
            raise
        return rows

    def open(self) -> None:
        """Begin to read; `refresh` continues.

        Raises CacheTopicMissingError and LogUnavailableError; it may be called again then.
        """
        self.mark = self.mark._replace(topic=self.log.topic_id(Topic.EVENTS))
        self._begin()
        self._is_open = True

    def refresh(self) -> None:
        """Take the new batches; if the broker is away, they come later.

        If the broker refuses, `trouble` is the reason, the rows stay, and the topic is read anew
        after a while. Raises StoreVersionError as soon as a feeder publishes rows of another
        format.
        """
        is_due = self._reader is not None or self.clock.monotonic_s() >= self._again_s
        if not self._is_open or not is_due:
            return
        try:
            if self._reader is None:
                self._begin()
            while self._step(0.0):
                pass
        except (LogUnavailableError, CacheTopicMissingError) as trouble:
            # Records that were read and not applied are lost to this reader.
            self._let_go()
            self.trouble = trouble
            self._again_s = self.clock.monotonic_s() + AGAIN_S
        self._check_format()

    def keep(self) -> None:
        """Open the topic, or take new records; called by one thread, several times a second.

        Raises StoreVersionError.
        """
        if not self._is_open:
            try:
                self.open()
            except (LogUnavailableError, CacheTopicMissingError) as refused:
                self._refused = refused
        with self.turn:
            self.refresh()
        problem = self.problem()
        kind = type(problem).__name__
        if kind != self._logged and not isinstance(problem, PublishedLoadingError | None):
            process_lines.warning("no rows come", error=kind, why=str(problem))
        self._logged = kind

    def missing(self) -> LedgerError | None:
        """Return why there are no rows to answer from, None if there are."""
        if self.has_come:
            return None
        if not self._is_open:
            return self._refused or PublishedLoadingError(0, 0)
        if self.trouble is None and self.next_offset >= self.end:
            return NothingPublishedError(self.next_offset)
        return self.trouble or PublishedLoadingError(self.next_offset, self.end)

    def problem(self) -> LedgerError | None:
        """Return why rows do not come, or must not be shown, None if all is well."""
        return self.missing() or self.lost or self.trouble

    @contextmanager
    def fresh(self) -> Iterator[RowReader]:
        """Yield the newest rows, to one thread at a time; raises the reason if absent."""
        with self.turn:
            missing = self.missing()
            if missing is not None:
                raise copy(missing) from missing
            self.refresh()
            self.check_lineage()
            yield self

    def check_lineage(self, *_seen: object) -> None:
        """Raise LogRewrittenError if earlier rows were made from events that the log has lost."""
        if self.lost is not None:
            raise copy(self.lost) from self.lost

    def _note_cuts(self) -> None:
        """Check whether a new cut left out events that the rows were made from."""
        gaps = lookups.gaps(self._store)
        position, chain, *_ = self.mark
        for gap in gaps:
            if gap not in self._gaps and gap.base < position:
                self.lost = LogRewrittenError(position, chain, "", gap.cut)
                self._replaced += 1
        self._gaps = gaps

    def origin(self) -> int:
        """Return how often all rows were replaced."""
        return self._replaced

    def close(self) -> None:
        self._is_open = False
        self._let_go()
        self._store.close()

    def _begin(self) -> None:
        """Read the topic from its first record on, to replace all rows."""
        self._topic_id, first, self.end = self._look()
        self._reader = self.log.reader(Topic.CACHE, first)
        self.next_offset = first
        self.trouble = None
        self._begun_ms = self.clock.now_ms()
        self._following = 0
        self._settled = 0
        self._format = FORMAT_VERSION
        self._gathered = Gathered()
        self._is_replacing = True

    def _look(self) -> tuple[str, int, int]:
        """Return id, first offset and end of the topic; a re-created topic still has the old id."""
        try:
            return self.log.topic_id(Topic.CACHE), *self.log.ends(Topic.CACHE)
        except TopicMissingError as missing:
            raise CacheTopicMissingError(missing.topic) from missing

    def _let_go(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _read_to(self, end: int) -> None:
        while self.next_offset < end:
            if not self._step(FIRST_READ_S):
                # Raises if no record came because the broker does not answer.
                self.log.ends(Topic.CACHE)
        self._check_format()

    def _step(self, timeout_s: float) -> bool:
        """Take the next records; return whether there were any."""
        assert self._reader is not None, "the topic is open"
        try:
            records = self._reader.read(READ_TOGETHER, timeout_s)
        except OffsetGoneError:
            # The topic was created anew.
            self._restart()
            return True
        if not records:
            return False
        if records[-1].offset + 1 - self.next_offset != len(records):
            if not self._is_replacing:
                self._restart()
                return True
            self._settled = self.log.ends(Topic.CACHE)[1]
        self._take(records)
        return True

    def _restart(self) -> None:
        self._let_go()
        self._begin()

    def _take(self, records: Sequence[Record]) -> None:
        self.next_offset = records[-1].offset + 1
        for record in records:
            marker = self._gathered.take(record)
            if marker is None:
                continue
            if not self._is_replacing and marker.first != self._following:
                # Another topic of the same name holds other records where those before were.
                self._restart()
                return
            self._following = marker.offset + 1
            self._format = marker.form
            if not self._is_next(marker):
                continue
            if self._is_replacing and not self._is_one_read(record.offset):
                self._restart()
                return
            self._apply(marker)
        self.has_come |= self.mark.position > 0 and self.next_offset >= self.end

    def _is_next(self, marker: Marker) -> bool:
        """Return whether a marker may apply: all before it was read, and rows do not go back."""
        mark = marker.at()
        is_whole = marker.offset + 1 >= self._settled
        is_ours = mark.topic == self.mark.topic and marker.form == FORMAT_VERSION
        return is_whole and is_ours and mark.position >= self.mark.position

    def _is_one_read(self, offset: int) -> bool:
        """Return whether all records up to here are of one topic, and were read in time."""
        if self.clock.now_ms() - self._begun_ms > FIRST_READ_MAX_MS:
            log_lines.warning("the first read took too long", offset=offset)
            return False
        return self._look()[0] == self._topic_id

    def _check_format(self) -> None:
        if self._format != FORMAT_VERSION:
            raise StoreVersionError(self._format, FORMAT_VERSION)

    def _apply(self, marker: Marker) -> None:
        """Apply the batch of a marker, in one write."""
        last = number_key(HISTORY, self.mark.position)
        changes: dict[bytes, bytes | None] = {last: None}
        if self._is_replacing:
            changes |= dict.fromkeys(rows_held(self._store, (*KINDS, HISTORY)))
            self._replaced += 1
        changes |= self._gathered.changes | marker.rows()
        self._store.write(sorted(changes.items()))
        self._note_cuts()
        self.mark = marker.at()
        self._gathered = Gathered()
        self._is_replacing = False
