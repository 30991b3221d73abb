"""The log in memory: for simulation, unit tests and users' own tests; never for real data.

It keeps the contract of the port. A test can remove and re-create records as Kafka would.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Condition
from time import time

from ledger.errors import OffsetGoneError
from ledger.log.port import Record, Topic


@dataclass(slots=True)
class MemoryTopic:
    """The records of one topic; `start` is the first offset that is not removed."""

    name: Topic
    incarnation: int = 0
    start: int = 0
    records: list[Record] = field(default_factory=list)

    def end(self) -> int:
        """Return the offset after the last record."""
        return self.records[-1].offset + 1 if self.records else self.start

    def place(self, offset: int) -> int:
        """Return the index of the first record from an offset on; compaction leaves holes."""
        return bisect_left(self.records, offset, key=lambda record: record.offset)


class MemoryLog:
    """The topics of a ledger in this process; threads may share it.

    `now_ms` gives the time of a record, as the clock of a broker does.
    """

    def __init__(self, now_ms: Callable[[], int] | None = None) -> None:
        self.now_ms = now_ms or (lambda: int(time() * 1000))
        self.topics = {topic: MemoryTopic(topic) for topic in Topic}
        self.changed = Condition()
        self._incarnations = count(1)

    def reader(self, topic: Topic, offset: int) -> "MemoryLogReader":
        """Return a reader that starts at `offset`."""
        return MemoryLogReader(self, self.topics[topic], offset)

    def writer(self, topic: Topic) -> "MemoryWriter":
        """Return a writer, whose records can be read at once."""
        return MemoryWriter(self, self.topics[topic])

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:  # noqa: ARG002
        """Return the first offset and the end offset."""
        with self.changed:
            found = self.topics[topic]
            return found.start, found.end()

    def topic_id(self, topic: Topic) -> str:
        """Return a name that changes when the topic is re-created."""
        return f"{topic}-{self.topics[topic].incarnation}"

    def close(self) -> None:
        """Do nothing: no resource is held."""

    def remove_below(self, topic: Topic, offset: int) -> None:
        """Remove the records below `offset`, as retention does."""
        with self.changed:
            found = self.topics[topic]
            del found.records[: found.place(offset)]
            found.start = offset

    def cut(self, topic: Topic, offset: int) -> None:
        """Remove the records from `offset` on, as an unclean election does."""
        with self.changed:
            found = self.topics[topic]
            del found.records[found.place(offset) :]

    def compact(
        self, topic: Topic, offsets: Collection[int], *, with_tombstones: bool = False
    ) -> None:
        """Remove the records at `offsets` whose key occurs again later, as compaction does.

        With `with_tombstones` also remove tombstones at `offsets` whose key has no other record, as
        compaction does after a while. The last record always stays.
        """
        with self.changed:
            found = self.topics[topic]
            newest = {record.key: record.offset for record in found.records}
            may_go = set(offsets) - {found.end() - 1}
            kept = [
                each
                for each in found.records
                if each.offset not in may_go or each.offset == newest[each.key]
            ]
            if with_tombstones:
                times = Counter(each.key for each in kept)
                kept = [
                    each
                    for each in kept
                    if each.value or each.offset not in may_go or times[each.key] > 1
                ]
            found.records[:] = kept

    def recreate(self, topic: Topic) -> None:
        """Replace the topic by an empty one with the same name."""
        with self.changed:
            fresh = self.topics[topic]
            fresh.incarnation = next(self._incarnations)
            fresh.start = 0
            fresh.records.clear()


class MemoryLogReader:
    """Reads a memory topic forward."""

    def __init__(self, log: MemoryLog, topic: MemoryTopic, offset: int) -> None:
        self._log = log
        self._topic = topic
        self._next = offset

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, waiting up to `timeout_s` for the first."""
        with self._log.changed:
            if timeout_s > 0:
                self._log.changed.wait_for(lambda: self._topic.end() > self._next, timeout_s)
            topic = self._topic
            if not topic.start <= self._next <= topic.end():
                raise OffsetGoneError(
                    f"offset {self._next} of {topic.name} is gone, "
                    f"the topic holds {topic.start} to {topic.end()}",
                    wanted=self._next,
                    earliest=topic.start,
                )
            begin = topic.place(self._next)
            found = topic.records[begin : begin + limit]
        if found:
            self._next = found[-1].offset + 1
        return found

    def next_offset(self) -> int:
        """Return the offset of the next record to be returned."""
        return self._next

    def close(self) -> None:
        """Do nothing: no resource is held."""


class MemoryWriter:
    """Appends to a memory topic."""

    def __init__(self, log: MemoryLog, topic: MemoryTopic) -> None:
        self._log = log
        self._topic = topic

    def append(self, key: bytes, value: bytes) -> None:
        """Add a record at the end and wake the readers."""
        with self._log.changed:
            record = Record(self._topic.end(), key, value, self._log.now_ms())
            self._topic.records.append(record)
            self._log.changed.notify_all()

    def check(self) -> None:
        """Do nothing: every record is delivered at once."""

    def flush(self, timeout_s: float) -> None:
        """Do nothing: every record is delivered at once."""

    def unwritten(self, value: bytes) -> int:  # noqa: ARG002
        """Return 0: every record is written."""
        return 0

    def close(self) -> None:
        """Do nothing: no resource is held."""
