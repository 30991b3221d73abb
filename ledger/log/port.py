"""The port of the log: what the ledger needs of Kafka, and nothing else of it.

A ledger is six topics of one partition each, and where it is wanted a seventh for caches. Offsets
are numbers of this package only; what the rest of the product counts in are positions. Where a
topic is compacted some offsets are missing, and readers pass over them. Both adapters, Kafka and
memory, pass the same contract tests.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol


class Topic(StrEnum):
    """The topics of a ledger, by the last part of their names."""

    COMMANDS = "commands"
    EVENTS = "events"
    HEARTBEATS = "heartbeats"
    BEATS = "beats"
    CHECKPOINTS = "checkpoints"
    CATALOGS = "catalogs"
    CACHE = "cache"


REQUIRED: Final = tuple(topic for topic in Topic if topic is not Topic.CACHE)
"""The topics without which there is no ledger."""


class Record(NamedTuple):
    """One record as read; `value` is empty for a tombstone, `timestamp` in milliseconds."""

    offset: int
    key: bytes
    value: bytes
    timestamp: int


class LogReader(Protocol):
    """Reads one topic forward from an offset; for one thread."""

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, waiting up to `timeout_s` for the first and not for more.

        Raises OffsetGoneError when the next offset was removed or lies beyond the end,
        LogRefusedError when the broker refuses.
        """
        ...

    def next_offset(self) -> int:
        """Return the offset of the first record not yet returned."""
        ...

    def close(self) -> None:
        """Let go of the broker; closing twice is allowed."""
        ...


class LogWriter(Protocol):
    """Appends to one topic in order, acknowledged by all replicas; for one thread."""

    def append(self, key: bytes, value: bytes) -> None:
        """Queue a record; its delivery is not waited for. Raises as `check` does."""
        ...

    def check(self) -> None:
        """Serve delivery reports; raise LogUnavailableError if any record was not delivered.

        After that error nothing is known of the records queued since, and the writer is of no more
        use: what was appended may be there, in part and with holes.
        """
        ...

    def flush(self, timeout_s: float) -> None:
        """Wait until all queued records are acknowledged; raise LogUnavailableError if not."""
        ...

    def unwritten(self, value: bytes) -> int:
        """Return how many records of this value are known not to have been written.

        More may become known by an error of this writer, and when it is closed.
        """
        ...

    def close(self) -> None:
        """Let go of the broker without waiting; closing twice is allowed."""
        ...


class Log(Protocol):
    """The topics of one ledger and one domain."""

    def reader(self, topic: Topic, offset: int) -> LogReader:
        """Return a reader that starts at `offset`."""
        ...

    def writer(self, topic: Topic) -> LogWriter:
        """Return a writer of its own, which nobody shares."""
        ...

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the first offset and the end offset, asked of the broker now.

        Raises LogUnavailableError when it does not answer in time.
        """
        ...

    def topic_id(self, topic: Topic) -> str:
        """Return the broker's id of the topic, another one after it was re-created."""
        ...

    def close(self) -> None:
        """Close what readers and writers share; they are closed one by one before."""
        ...
