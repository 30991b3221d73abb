"""The port of a source: topics with partitions, read by several processes of one ingest.

The source hands out partitions and moves them between processes. It keeps no offsets: the ledger
says where each partition continues.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol


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

    def partitions(self, topic: str) -> Sequence[Partition]:
        """Return all partitions of a topic; raises TopicMissingError."""

    def held(self, partition: Partition) -> Held:
        """Return the offsets that a partition holds now."""

    def end(self, partition: Partition) -> int:
        """Return the last known end of an assigned partition, without asking for it; -1 = none."""

    def topic_id(self, topic: str) -> str:
        """Return the id of a topic: a topic that is made anew has another one."""

    def close(self) -> None:
        """Leave, so that other processes get the partitions."""
