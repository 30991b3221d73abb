"""Growth: what a ledger's topics, rows and backups hold, what a day adds, and when a disk is full.

A broker of this host has its topics as folders, whose segments are counted. For another one the
records are counted, and their size is that of the newest ones. What a day adds is what the events
topic got within the last day, by the size of its newest records, and the rows that were made of as
many events. A log whose history is short tells too little of a whole day.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple

from ledger.config.config import Settings
from ledger.errors import AccessDeniedError, TopicMissingError
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.port import Log, Topic
from ledger.machine.folder import BROKER, SPARK, SPARK_ROWS, folders_aside
from ledger.machine.room import DiskRoom

DAY_MS: Final = 24 * 60 * 60 * 1000
HOUR_MS: Final = 60 * 60 * 1000
SPAN_LEAST_MS: Final = HOUR_MS
"""The least history from which what a day adds is told."""
BLOCK_BYTES: Final = 512
"""The unit in which a file system counts what a file takes of the disk."""
SEGMENTS: Final = "*.log*"
"""The files of a topic with its records, also those that the broker is about to delete."""
SAMPLE: Final = 500
RECORD_BYTES: Final = 20
"""What Kafka keeps of a record besides its key and its value, about."""
WAIT_S: Final = 5.0
PUBLICATION: Final = "publisher"
NOTIFIER: Final = "notifier"
"""The folders of a publisher's rows and a notifier's places, beside the rows of the follower."""


class HeldBytes(NamedTuple):
    """What one place of a ledger holds; `is_measured` is false for an estimate.

    `records` is None for what has no records, `oldest` the time of its first record in ms, or None.
    """

    what: str
    bytes: int
    records: int | None = None
    oldest: int | None = None
    is_measured: bool = True


class Growth(NamedTuple):
    """What a day adds: events, bytes of the events topic, and bytes of rows made of them.

    It is counted from the events of the last `span_ms`.
    """

    events: int
    log_bytes: int
    row_bytes: int
    span_ms: int = DAY_MS

    @property
    def is_known(self) -> bool:
        """Whether the span is long enough to tell of a day."""
        return self.span_ms >= SPAN_LEAST_MS

    def days_left(self, free: int) -> float | None:
        """Return after how many days a disk with `free` bytes is full.

        None if nothing grows, or if it is not known yet.
        """
        a_day = self.log_bytes + self.row_bytes
        return free / a_day if a_day > 0 and self.is_known else None


def topic_held(log: Log, topic: Topic, folder: Path | None = None) -> HeldBytes | None:
    """Return what a topic holds, None for one that does not exist or may not be read.

    `folder` is the broker's folder of the topic, if it is on this host.
    """
    try:
        log.topic_id(topic)
        first, end = log.ends(topic)
        oldest = time_at(log, topic, first) if first < end else None
        if folder is not None and folder.is_dir():
            return HeldBytes(f"topic {topic}", folder_bytes(folder, SEGMENTS), end - first, oldest)
        size = (end - first) * record_bytes(log, topic, first, end)
    except (TopicMissingError, AccessDeniedError):
        return None
    return HeldBytes(f"topic {topic}", size, end - first, oldest, is_measured=False)


def record_bytes(log: Log, topic: Topic, first: int, end: int) -> int:
    """Return the mean size of the newest records of a topic, 0 without records."""
    with closing(log.reader(topic, max(first, end - SAMPLE))) as reader:
        records = reader.read(SAMPLE, WAIT_S) if first < end else ()
    sizes = [len(each.key) + len(each.value) + RECORD_BYTES for each in records]
    return sum(sizes) // len(sizes) if sizes else 0


def time_at(log: Log, topic: Topic, offset: int) -> int | None:
    """Return the time of the first record from an offset on, None if it does not come."""
    with closing(log.reader(topic, offset)) as reader:
        records = reader.read(1, WAIT_S)
    return records[0].timestamp if records else None


def offset_since(log: Log, topic: Topic, since_ms: int) -> int:
    """Return the first offset whose record is of a time or later; times of records never fall."""
    low, high = log.ends(topic)
    while low < high:
        middle = (low + high) // 2
        at = time_at(log, topic, middle)
        if at is None or at >= since_ms:
            high = middle
        else:
            low = middle + 1
    return low


def growth(log: Log, now_ms: int, events: HeldBytes, rows: Iterable[HeldBytes]) -> Growth:
    """Return what a day adds to a ledger, by the last day or by its whole time if that is less."""
    first, end = log.ends(Topic.EVENTS)
    since = offset_since(log, Topic.EVENTS, now_ms - DAY_MS)
    count, span_ms = end - since, DAY_MS
    if since == first and events.oldest is not None:
        span_ms = max(1, min(DAY_MS, now_ms - events.oldest))
    a_day = count * DAY_MS / span_ms
    log_bytes = a_day * record_bytes(log, Topic.EVENTS, first, end)
    # Rows are made of all events, also of those that a trim took from the log.
    row_bytes = sum(each.bytes for each in rows) * a_day / end if end else 0
    return Growth(round(a_day), round(log_bytes), round(row_bytes), span_ms)


def events_held(log: Log, ledger: str, store: Path | None) -> HeldBytes | None:
    """Return what the events topic holds, as `topic_held`; `store` are the rows of this host."""
    return topic_held(log, Topic.EVENTS, topic_folder(ledger, Topic.EVENTS, store))


def topic_folder(ledger: str, topic: Topic, store: Path | None) -> Path | None:
    """Return where a broker beside the rows of this host would keep a topic."""
    if store is None:
        return None
    return store.parent / BROKER / "log" / f"{topic_name(ledger, topic)}-0"


def rows_held(store: Path | None, settings: Settings) -> Iterator[HeldBytes]:
    """Yield what rows take on this host, for each process that keeps some."""
    found = {} if store is None else {"rows": store, "feeder": store.parent / SPARK / SPARK_ROWS}
    configured = {PUBLICATION: settings.publisher.store, NOTIFIER: settings.notifier.store}
    for what, place in configured.items():
        if place is not None:
            found[what] = place.expanduser()
        elif store is not None:
            found[what] = store.parent / what
    for what, folder in found.items():
        if folder.is_dir():
            yield HeldBytes(what, folder_bytes(folder))


def asides_held(store: Path | None) -> Iterator[HeldBytes]:
    """Yield what lies beside the rows of this host since it was set aside; it does not grow."""
    for folder in () if store is None else folders_aside(store.parent):
        yield HeldBytes(folder.name, folder_bytes(folder))


def least_days_left(added: Growth, disks: Iterable[DiskRoom]) -> float | None:
    """Return after how many days the first disk is full, None if nothing grows."""
    days = (added.days_left(disk.free) for disk in disks)
    return min((each for each in days if each is not None), default=None)


def folder_bytes(folder: Path, pattern: str = "*") -> int:
    """Return what the files below a folder take of the disk; one that goes meanwhile takes nothing.

    A file that was made long before it is filled, such as an index of Kafka, takes few blocks.
    """
    total = 0
    for path in folder.rglob(pattern):
        try:
            found = path.stat()
        except OSError:
            continue
        if S_ISREG(found.st_mode):
            total += min(found.st_size, found.st_blocks * BLOCK_BYTES)
    return total
