"""Publishing: sends the rows of metadata in a store to the cache topic, batch by batch.

The store is written first, then its batch is published and closed by a marker. A process that ends
between the two has published nothing or a part. So each start compares the topic with the store,
and the difference goes into the next batch. A store that is behind the topic publishes nothing
before it has come as far: readers never go back. There is one writer. If there is a second one,
markers of both become void and both get an error, so no reader takes a mixture for a batch.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

from ledger.log.port import Log, Topic, records_between
from ledger.log_lines import LogLines
from projections.cache.topic.topic import (
    MARKER,
    Changes,
    Gathered,
    Marker,
    difference,
    published,
    rows_held,
)
from projections.errors import PublishedElsewhereError
from projections.fold.fold import FoldMark
from projections.rows.keys import LOG, read_value
from projections.store.port import FORMAT_VERSION, RowChange, RowReader, RowsBeneath, RowStore

READ_S: Final = 1.0
FLUSH_S: Final = 60.0

log_lines = LogLines("lakeledger.feeder")


class CacheFeed:
    """Keeps the cache topic of a log equal to the rows of one store; for one thread.

    Attributes:
        batches: how many batches it published.
    """

    def __init__(self, log: Log, rows: RowReader) -> None:
        self.batches = 0
        self._log = log
        self._rows = rows
        self._writer = log.writer(Topic.CACHE)
        # The first offset of the next batch and the end of the topic, both as this writer left it.
        self._first = 0
        self._end = 0
        self._is_equal = False
        self._ahead: FoldMark | None = None

    def start(self) -> None:
        """Bring the topic to the position of the store, however the last feeder ended.

        Raises LogUnavailableError and PublishedElsewhereError.
        """
        mark = self._mark()
        if mark is None or self._is_ahead(mark):
            return
        self._writer.close()
        self._writer = self._log.writer(Topic.CACHE)
        first, end = self._log.ends(Topic.CACHE)
        self._first = self._end = end
        if not self._ends_with(mark, end):
            held = self._gathered(first, end)
            last = held.marker
            self._first = 0 if last is None else last.offset + 1
            self._ahead = None if last is None else last.at()
            if self._is_ahead(mark):
                log_lines.info("behind the cache topic", position=mark.position)
                return
            self._send(difference(held.changes, rows_held(self._rows)))
            log_lines.info("cache topic brought up to the store", position=mark.position)
        self._is_equal = True

    def publish(self, changes: Sequence[RowChange]) -> None:
        """Publish the changes of a write that the store holds already.

        Raises LogUnavailableError and PublishedElsewhereError; the next call publishes the
        difference.
        """
        if self._is_equal:
            self._send(published(changes))
        else:
            self.start()

    def close(self) -> None:
        """Close the writer of the topic."""
        self._writer.close()

    def _mark(self) -> FoldMark | None:
        data = self._rows.get(LOG)
        return None if data is None else FoldMark(*read_value(data))

    def _is_ahead(self, mark: FoldMark) -> bool:
        """Return whether the topic is ahead of a store of the same log."""
        ahead = self._ahead
        return ahead is not None and ahead.topic == mark.topic and ahead.position > mark.position

    def _ends_with(self, mark: FoldMark, end: int) -> bool:
        """Return whether the last record is the marker of the store's position."""
        if end == 0:
            return False
        last = self._gathered(end - 1, end).marker
        return last is not None and last.form == FORMAT_VERSION and last.at() == mark

    def _gathered(self, first: int, end: int) -> Gathered:
        """Return the content of the topic from one offset to before another."""
        held = Gathered()
        for record in records_between(self._log, Topic.CACHE, first, end, READ_S, may_be_late=True):
            held.take(record)
        return held

    def _send(self, changes: Changes) -> None:
        """Append a batch with its marker, and check that no other writer appended.

        After a failure the state of the topic is unknown, and it has to be compared with the store.
        """
        self._is_equal = False
        for key, data in changes.items():
            if data == b"":
                raise AssertionError("an empty value means that the row is deleted")
            self._writer.append(key, data or b"")
        marker = Marker.of_rows(self._first, self._end + len(changes), self._rows)
        self._writer.append(MARKER, marker.data())
        self._writer.flush(FLUSH_S)
        self._first = self._end = marker.offset + 1
        end = self._log.ends(Topic.CACHE)[1]
        if end != self._end:
            raise PublishedElsewhereError(self._end, end)
        self._is_equal = True
        self.batches += 1


@contextmanager
def publishing(log: Log, store: RowStore) -> Iterator["PublishingStore"]:
    """Yield a store that writes to another one and publishes its rows.

    The topic is at the store's position when the block begins. Raises as `CacheFeed.start`.
    """
    with closing(CacheFeed(log, store)) as feed:
        feed.start()
        yield PublishingStore(store, feed)


class PublishingStore(RowsBeneath, RowStore):
    """A store whose batches are published as they are written; closes neither of its parts."""

    _store: RowStore

    def __init__(self, store: RowStore, feed: CacheFeed) -> None:
        self._store = store
        self._feed = feed

    def refresh(self) -> None:
        self._store.refresh()

    def write(self, changes: Sequence[RowChange]) -> None:
        """Apply all changes or none, and publish them; raises as `CacheFeed.publish` too."""
        self._store.write(changes)
        self._feed.publish(changes)

    def close(self) -> None:
        """Do nothing: the caller closes the parts."""
