"""The port of the log: everything that the ledger needs from Kafka.

A ledger is six topics of one partition each, and two optional ones: for caches, and for the
processes that follow the log. Offsets are
used in this package only; the rest of the product counts positions. In a compacted topic some
offsets are missing, and readers skip them. Both adapters, Kafka and memory, pass the same contract
tests.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from ledger.errors import LogUnavailableError

READ_MAX: Final = 5_000
PATIENCE_S: Final = 10.0


class Topic(StrEnum):
    """The topics of a ledger, by the last part of their names."""

    COMMANDS = "commands"
    EVENTS = "events"
    HEARTBEATS = "heartbeats"
    BEATS = "beats"
    CHECKPOINTS = "checkpoints"
    CATALOGS = "catalogs"
    CACHE = "cache"
    CONSUMERS = "consumers"


REQUIRED: Final = tuple(topic for topic in Topic if topic not in {Topic.CACHE, Topic.CONSUMERS})
"""The topics that every ledger has."""

MADE: Final = (*REQUIRED, Topic.CONSUMERS)
"""The topics that a new ledger gets."""


class Record(NamedTuple):
    """One record as read; `value` is empty for a tombstone, `timestamp` in milliseconds."""

    offset: int
    key: bytes
    value: bytes
    timestamp: int


class LogReader(Protocol):
    """Reads one topic forward from an offset; for one thread."""

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, waiting up to `timeout_s` for the first one only.

        Raises OffsetGoneError if the next offset was removed or lies beyond the end,
        LogRefusedError if the broker refuses.
        """
        ...

    def next_offset(self) -> int:
        """Return the offset of the next record to be returned."""
        ...

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        ...


class LogWriter(Protocol):
    """Appends to one topic in order, acknowledged by all replicas; for one thread."""

    def append(self, key: bytes, value: bytes) -> None:
        """Queue a record without waiting for its delivery; raises as `check` does."""
        ...

    def check(self) -> None:
        """Serve delivery reports; raises LogUnavailableError if a record was not delivered.

        After that error the writer cannot be used any more. The outcome of records queued since the
        failed one is unknown: they may be in the log in part, with holes.
        """
        ...

    def flush(self, timeout_s: float) -> None:
        """Wait until all queued records are acknowledged; raises LogUnavailableError otherwise."""
        ...

    def unwritten(self, value: bytes) -> int:
        """Return how many records of this value were certainly not written.

        The number may grow with an error of this writer, and when it is closed.
        """
        ...

    def close(self) -> None:
        """Close the connection without waiting; closing twice is allowed."""
        ...


class Log(Protocol):
    """The topics of one ledger and one domain."""

    def reader(self, topic: Topic, offset: int) -> LogReader:
        """Return a reader that starts at `offset`."""
        ...

    def writer(self, topic: Topic) -> LogWriter:
        """Return a new writer, which no other caller shares."""
        ...

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the present first and end offset from the broker.

        Raises LogUnavailableError if it does not answer in time.
        """
        ...

    def topic_id(self, topic: Topic) -> str:
        """Return the broker's id of the topic, which changes when the topic is re-created."""
        ...

    def close(self) -> None:
        """Close the shared client, after all readers and writers were closed."""
        ...


def records_between(
    log: Log,
    topic: Topic,
    first: int,
    end: int,
    wait_s: float = PATIENCE_S,
    *,
    may_be_late: bool = False,
) -> Iterator[Record]:
    """Yield the records of a topic from an offset to before another, and perhaps some behind them.

    A topic that has lost its end ends there. Raises LogUnavailableError if the broker does not
    answer, or does not deliver a record within `wait_s`; `may_be_late` waits on for such a record.
    """
    with closing(log.reader(topic, first)) as reader:
        while reader.next_offset() < end:
            records = reader.read(READ_MAX, wait_s)
            yield from records
            if not records and (offset := reader.next_offset()) < end:
                # A reader cannot tell an unreachable broker from an empty topic; `ends` raises.
                end = min(end, log.ends(topic)[1])
                if offset < end and not may_be_late:
                    raise LogUnavailableError(
                        f"the record at offset {offset} of the {topic} topic did not come within "
                        f"{wait_s:g} s, its end is {end}; see whether the broker runs"
                    )
