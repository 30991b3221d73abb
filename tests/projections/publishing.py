"""A host that publishes its rows of metadata, and what becomes of it and of the topic."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from random import Random
from typing import Final

from ledger.errors import LogUnavailableError
from ledger.log.memory import MemoryLog
from ledger.log.port import Log, LogReader, LogWriter, Record, Topic
from projections import lookups
from projections.cache_publishing import Publisher, PublishingStore
from projections.cache_topic import rows_held
from projections.errors import PublishedElsewhereError
from projections.fold import Fold
from projections.memory import MemoryStore
from projections.store import RowReader
from tests.projections.cache_history import Played

ALL: Final = 10_000


def events_log(history: Played) -> MemoryLog:
    """Return a log with the events of a history, and nothing published yet."""
    log = MemoryLog()
    writer = log.writer(Topic.EVENTS)
    for record in history.driver.records:
        writer.append(record.key, record.value)
    return log


class Host:
    """A store that follows the events of a log batch by batch, and its publisher."""

    def __init__(self, log: MemoryLog, through: Log | None = None) -> None:
        self.log = log
        self.through = through or log
        self.store = MemoryStore()
        self.start()

    def start(self) -> None:
        """Begin as a process does whose predecessor has ended, however that was."""
        self.publisher = Publisher(self.through, self.store)
        self.publisher.start()
        self.fold = Fold.load(PublishingStore(self.store, self.publisher), self.log)

    def feed(self, count: int) -> None:
        """Fold the next events and publish what they changed."""
        self.fold.feed(self._next(self.fold, count))

    def feed_all(self) -> None:
        """Fold and publish all there is."""
        self.feed(self.log.ends(Topic.EVENTS)[1])

    def end_before_publishing(self, count: int) -> None:
        """Fold the next events, and end before anything of them is published; then start."""
        fold = Fold.load(self.store, self.log)
        fold.feed(self._next(fold, count))
        self.start()

    def end_while_publishing(self, count: int, lost: int) -> None:
        """Fold the next events, and end before the last records are published; then start."""
        before = self.log.ends(Topic.CACHE)[1]
        self.feed(count)
        end = self.log.ends(Topic.CACHE)[1]
        self.log.cut(Topic.CACHE, max(before, end - lost))
        self.start()

    def feed_beside(self, other: "Host", count: int) -> None:
        """Fold events while another host publishes too; who is told so starts anew."""
        for host in (other, self, other, self):
            try:
                host.feed(count)
            except PublishedElsewhereError:
                with suppress(PublishedElsewhereError):
                    host.start()

    def _next(self, fold: Fold, count: int) -> Sequence[Record]:
        records = self.log.topics[Topic.EVENTS].records
        return records[fold.offset : max(fold.offset, fold.mark.offset) + count]


def compact(log: MemoryLog, source: Random, *, with_tombstones: bool) -> None:
    """Remove by chance about half of what compaction may remove, up to some offset."""
    cleaned = source.randint(0, log.ends(Topic.CACHE)[1])
    offsets = [offset for offset in range(cleaned) if source.random() < 0.5]
    log.compact(Topic.CACHE, offsets, with_tombstones=with_tombstones)


def metadata_rows(rows: RowReader) -> tuple[int, dict[bytes, bytes]]:
    """Return the position of rows, and those that are published."""
    return lookups.position(rows), rows_held(rows)


class Interrupted:
    """A log whose readers get few records at a time, between which something happens."""

    def __init__(self, log: MemoryLog, size: int, between: Callable[[], None]) -> None:
        self._log = log
        self._size = size
        self._between = between

    def reader(self, topic: Topic, offset: int) -> LogReader:
        """Return a reader of few records."""
        return SlowReader(self._log.reader(topic, offset), self._size, self._between)

    def writer(self, topic: Topic) -> LogWriter:
        """Return a writer."""
        return self._log.writer(topic)

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the first offset and the end offset."""
        return self._log.ends(topic, timeout_s)

    def topic_id(self, topic: Topic) -> str:
        """Return the id of a topic."""
        return self._log.topic_id(topic)

    def close(self) -> None:
        """Nothing is held."""


class SlowReader:
    """Reads few records at a time; before each time something happens."""

    def __init__(self, reader: LogReader, size: int, between: Callable[[], None]) -> None:
        self._reader = reader
        self._size = size
        self._between = between

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records."""
        self._between()
        return self._reader.read(min(limit, self._size), min(timeout_s, 0.0))

    def next_offset(self) -> int:
        """Return the offset of the first record not yet returned."""
        return self._reader.next_offset()

    def close(self) -> None:
        """Close what is read from."""
        self._reader.close()


class Refusing(Interrupted):
    """A log that takes records in while `is_away` only to lose the last of them, and says so."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__(log, ALL, lambda: None)
        self.is_away = False

    def writer(self, topic: Topic) -> LogWriter:
        """Return a writer that is told of what was lost."""
        return RefusedWriter(self, topic)

    def lose(self, topic: Topic) -> None:
        """Lose the last two records, and raise as their writer would; nothing if not away."""
        if self.is_away:
            self._log.cut(topic, self._log.ends(topic)[1] - 2)
            raise LogUnavailableError("not delivered")


class RefusedWriter:
    """Appends, and finds out at the flush what was lost."""

    def __init__(self, log: Refusing, topic: Topic) -> None:
        self._log = log
        self._topic = topic
        self._writer = Interrupted.writer(log, topic)

    def append(self, key: bytes, value: bytes) -> None:
        """Append a record."""
        self._writer.append(key, value)

    def check(self) -> None:
        """Find nothing wrong."""

    def flush(self, timeout_s: float) -> None:  # noqa: ARG002
        """Raise LogUnavailableError if records were lost."""
        self._log.lose(self._topic)

    def close(self) -> None:
        """Nothing is held."""


def slow(log: MemoryLog, size: int, between: Callable[[], None]) -> Log:
    """Return a log that is read bit by bit, with something happening between."""
    return Interrupted(log, size, between)


def holes(log: MemoryLog) -> Collection[int]:
    """Return the offsets of the topic that compaction has removed."""
    held = {record.offset for record in log.topics[Topic.CACHE].records}
    return set(range(log.ends(Topic.CACHE)[1])) - held
