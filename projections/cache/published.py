"""Rows of the cache topic: what another host published, read into a store of one's own.

Rows change by whole batches only, each closed by a marker, so they are always those of one position
of the publisher's store. Compaction complicates that. A record that is missing was replaced by a
later one of its key, which may lie behind the next marker: at that marker the rows would be a
mixture of two positions. So where offsets are missing, no marker counts before one that lies at or
beyond the end of the topic as it was afterwards: by then all that replaced them has been read. And
whoever had rows already begins anew: a row that is gone may have lost even its tombstone.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.errors import OffsetGoneError
from ledger.log.port import Log, Record, Topic
from projections.cache.reads import MetadataCache
from projections.cache.rows import BYTES_MAX, RowEntries
from projections.cache.source import RowMetadataStore
from projections.cache.topic import KINDS, Gathered, Marker, rows_held
from projections.errors import StoreForeignError, StoreVersionError
from projections.fold import Mark
from projections.memory import MemoryStore
from projections.rows import HISTORY, LOG, number_key, read_value
from projections.store import FORMAT_VERSION, Row, RowReader, RowStore

READ_TOGETHER: Final = 10_000
FIRST_READ_S: Final = 5.0


def open_published(log: Log, catalog: str, *, bytes_max: int = BYTES_MAX) -> MetadataCache:
    """Return the metadata cache over what another host publishes of a log.

    Misses go to rows of the same topic, which a reader of their own keeps: so no answer of the one
    moves the rows under an answer of the other. Raises as `PublishedRows`.
    """
    entries = RowEntries(PublishedRows(log), bytes_max=bytes_max)
    return MetadataCache(entries, RowMetadataStore(PublishedRows(log)), catalog)


class PublishedRows(RowReader):
    """The rows of metadata of another host, for one thread; closes the store they are kept in.

    Without a `store` they are kept in memory. One on disk serves what it holds while the topic is
    read again. Raises StoreForeignError for a store of another log, and as `refresh`.
    """

    def __init__(self, log: Log, store: RowStore | None = None) -> None:
        self._log = log
        self._store = store or MemoryStore()
        self._topic = log.topic_id(Topic.EVENTS)
        kept = self._store.get(LOG)
        self._mark = Mark(0, "", 0, self._topic) if kept is None else Mark(*read_value(kept))
        if self._mark.topic != self._topic:
            raise StoreForeignError(self._mark.topic, self._topic)
        self._begin()
        self._read_to(self._log.ends(Topic.CACHE)[1])

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, None if there is no such row."""
        return self._store.get(key)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return the rows of [start, end) in key order; see RowReader."""
        return self._store.scan(start, end, limit=limit, reverse=reverse)

    def refresh(self) -> None:
        """Take the batches that have come since; those of a broker that is away come later.

        Raises LogUnavailableError if the broker refuses, and StoreVersionError as soon as somebody
        publishes rows of another format.
        """
        while self._step(0.0):
            pass
        self._check_format()

    def close(self) -> None:
        """Let go of the topic and of the rows."""
        self._reader.close()
        self._store.close()

    def _begin(self) -> None:
        """Read the topic from its first record on, to replace whatever rows there are."""
        first, _ = self._log.ends(Topic.CACHE)
        self._reader = self._log.reader(Topic.CACHE, first)
        self._next = first
        self._following = 0
        self._settled = 0
        self._format = FORMAT_VERSION
        self._gathered = Gathered()
        self._is_replacing = True

    def _read_to(self, end: int) -> None:
        while self._next < end:
            if not self._step(FIRST_READ_S):
                # Raises if nothing came because nobody answers.
                self._log.ends(Topic.CACHE)
        self._check_format()

    def _step(self, timeout_s: float) -> bool:
        """Take the next records; tell whether there were any."""
        try:
            records = self._reader.read(READ_TOGETHER, timeout_s)
        except OffsetGoneError:
            # The topic was made anew.
            self._restart()
            return True
        if not records:
            return False
        if records[-1].offset + 1 - self._next != len(records):
            if not self._is_replacing:
                self._restart()
                return True
            self._settled = self._log.ends(Topic.CACHE)[1]
        self._take(records)
        return True

    def _restart(self) -> None:
        self._reader.close()
        self._begin()

    def _take(self, records: Sequence[Record]) -> None:
        self._next = records[-1].offset + 1
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
            if self._is_next(marker):
                self._apply(marker)

    def _is_next(self, marker: Marker) -> bool:
        """Tell whether rows may go on to a marker: all before it was read, and none goes back."""
        mark = marker.at()
        is_whole = marker.offset + 1 >= self._settled
        is_ours = mark.topic == self._topic and marker.form == FORMAT_VERSION
        return is_whole and is_ours and mark.position >= self._mark.position

    def _check_format(self) -> None:
        if self._format != FORMAT_VERSION:
            raise StoreVersionError(self._format, FORMAT_VERSION)

    def _apply(self, marker: Marker) -> None:
        """Make the rows those of a marker, in one write."""
        last = number_key(HISTORY, self._mark.position)
        changes: dict[bytes, bytes | None] = {last: None}
        if self._is_replacing:
            changes |= dict.fromkeys(rows_held(self._store, (*KINDS, HISTORY)))
        changes |= self._gathered.changes | marker.rows()
        self._store.write(sorted(changes.items()))
        self._mark = marker.at()
        self._gathered = Gathered()
        self._is_replacing = False
