"""A host that publishes its rows of metadata, and what becomes of it and of the topic."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from random import Random
from typing import Final

from ledger.errors import LogUnavailableError
from ledger.log.memory import MemoryLog, MemoryLogReader, MemoryTopic, MemoryWriter
from ledger.log.port import Log, Record, Topic
from projections.cache.topic.publishing import CacheFeed, PublishingStore
from projections.cache.topic.topic import rows_held
from projections.errors import PublishedElsewhereError
from projections.fold.fold import Fold
from projections.reads import lookups
from projections.store.memory import MemoryStore
from projections.store.port import RowReader
from tests.projections.cache_history import Played

ALL: Final = 10_000


def events_log(history: Played) -> MemoryLog:
    log = MemoryLog()
    writer = log.writer(Topic.EVENTS)
    for record in history.driver.records:
        writer.append(record.key, record.value)
    return log


class Host:
    """A store that follows the events of a log batch by batch, and its feed."""

    def __init__(self, log: MemoryLog, through: Log | None = None) -> None:
        self.log = log
        self.through = through or log
        self.store = MemoryStore()
        self.start()

    def start(self) -> None:
        """Begin as a process does whose predecessor has ended, however that was."""
        self.cache_feed = CacheFeed(self.through, self.store)
        self.cache_feed.start()
        self.fold = Fold.load(PublishingStore(self.store, self.cache_feed), self.log)

    def feed(self, count: int) -> None:
        """Fold the next events and publish what they changed."""
        self.fold.feed(self._next(self.fold, count))

    def feed_all(self) -> None:
        self.feed(self.log.ends(Topic.EVENTS)[1])

    def store_checkpoint(self) -> None:
        """Store the state, as a process does by time; if told of another feeder, start anew."""
        try:
            self.fold.store_checkpoint()
        except PublishedElsewhereError:
            self.start()

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
    return lookups.position(rows), rows_held(rows)


class SharedLog(MemoryLog):
    """Another view of the topics of a log."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__()
        self.topics, self.changed = log.topics, log.changed


class Interrupted(SharedLog):
    """A log whose readers get few records at a time, between which something happens."""

    def __init__(self, log: MemoryLog, size: int, between: Callable[[], None]) -> None:
        super().__init__(log)
        self._size = size
        self._between = between

    def reader(self, topic: Topic, offset: int) -> "SlowReader":
        """Return a reader of few records."""
        return SlowReader(self, self.topics[topic], offset, self._size, self._between)


class SlowReader(MemoryLogReader):
    """Reads few records at a time; before each time something happens."""

    def __init__(
        self,
        log: MemoryLog,
        topic: MemoryTopic,
        offset: int,
        size: int,
        between: Callable[[], None],
    ) -> None:
        super().__init__(log, topic, offset)
        self._size = size
        self._between = between

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:  # noqa: ARG002
        """Return the next records, without a wait."""
        self._between()
        return super().read(min(limit, self._size), 0.0)


class Refusing(SharedLog):
    """A log that takes records in while `is_away` only to lose the last of them, and says so."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__(log)
        self.is_away = False

    def writer(self, topic: Topic) -> "RefusedWriter":
        """Return a writer that is told of what was lost."""
        return RefusedWriter(self, self.topics[topic])

    def lose(self, topic: Topic) -> None:
        """Lose the last two records, and raise as their writer would; nothing if not away."""
        if self.is_away:
            self.cut(topic, self.ends(topic)[1] - 2)
            raise LogUnavailableError("not delivered")


class RefusedWriter(MemoryWriter):
    """Appends, and finds out at the flush what was lost."""

    def __init__(self, log: Refusing, topic: MemoryTopic) -> None:
        super().__init__(log, topic)
        self._refusing = log
        self._name = topic.name

    def flush(self, timeout_s: float) -> None:  # noqa: ARG002
        """Raise LogUnavailableError if records were lost."""
        self._refusing.lose(self._name)


def slow(log: MemoryLog, size: int, between: Callable[[], None]) -> Log:
    """Return a log that is read bit by bit, with something happening between."""
    return Interrupted(log, size, between)


def holes(log: MemoryLog) -> Collection[int]:
    """Return the offsets of the topic that compaction has removed."""
    held = {record.offset for record in log.topics[Topic.CACHE].records}
    return set(range(log.ends(Topic.CACHE)[1])) - held
