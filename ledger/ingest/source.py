"""The port of a source: topics with partitions, read by several processes of one ingest.

The source hands out partitions and moves them between processes. It keeps no offsets: the ledger
says where each partition continues.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ledger.errors import TopicMissingError


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class TopicRecord(NamedTuple):
    """A record of a topic; `at` is its time in milliseconds, and None = a tombstone's value."""

    partition: Partition
    offset: int
    key: bytes | None
    value: bytes | None
    at: int = 0


class Held(NamedTuple):
    """The offsets that a partition holds: `first`, and `end`, which the next record gets."""

    first: int
    end: int


class SeenTopic(NamedTuple):
    """A topic as its brokers have it now.

    A topic that is made anew has another `id`. No broker leads the partitions in `unled`.
    """

    id: str
    partitions: tuple[Partition, ...]
    unled: tuple[Partition, ...] = ()


def seen_topics(source: "TopicSource", topics: Sequence[str]) -> Mapping[str, SeenTopic]:
    """Return topics as they are now; raises TopicMissingError."""
    found = source.seen(topics)
    for topic in topics:
        if topic not in found:
            raise missing(topic)
    return found


def missing(topic: str) -> TopicMissingError:
    """Return the error for a topic that is not there."""
    return TopicMissingError(
        f"there is no topic {topic}; create it, or take it out of the mapping", topic=topic
    )


class Assignment(Protocol):
    """What a process does when partitions come to it, and when they go to another process."""

    def came(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Return the offset at which each partition continues."""

    def went(self, partitions: Iterable[Partition]) -> None:
        """Forget what was read of these partitions and is not committed."""


class TopicSource(Protocol):
    """Records of the assigned partitions, in the order of each partition."""

    def take(self, limit: int, wait_s: float) -> Sequence[TopicRecord]:
        """Return up to `limit` records, and wait up to `wait_s` for the first.

        Partitions come and go during the call. Raises OffsetGoneError if a record that is due was
        deleted.
        """

    def seek(self, partition: Partition, offset: int) -> None:
        """Let an assigned partition go on at an offset."""

    def seen(self, topics: Iterable[str]) -> Mapping[str, SeenTopic]:
        """Ask for topics as they are now; one that does not exist is left out."""

    def held(self, partition: Partition) -> Held:
        """Return the offsets that a partition holds now."""

    def end(self, partition: Partition) -> int:
        """Return the last known end of an assigned partition, without asking for it; -1 = none."""

    def close(self) -> None:
        """Leave, so that other processes get the partitions."""
