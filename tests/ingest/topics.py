"""Topics in memory, with partitions that move between the processes of one ingest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ledger.errors import LedgerError, OffsetGoneError
from ledger.ingest.source import Assignment, Held, Partition, SeenTopic, TopicRecord, TopicSource


@dataclass
class MemoryTopics:
    """Topics and their records; offsets may have gaps, as those of a compacted topic.

    Attributes:
        records: what each partition holds, in order.
        owners: the source that has each partition now.
        ids: the id of each topic.
        first: the first offset of each partition that lost its beginning.
        away: why the brokers do not answer, None if they do.
        unled: the partitions without a leader.
    """

    records: dict[Partition, list[TopicRecord]] = field(default_factory=dict)
    owners: dict[Partition, "MemorySource"] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    first: dict[Partition, int] = field(default_factory=dict)
    away: LedgerError | None = None
    unled: set[Partition] = field(default_factory=set)

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make a topic, or give it more partitions."""
        self.ids.setdefault(topic, f"id of {topic}")
        for number in range(partitions):
            self.records.setdefault(Partition(topic, number), [])

    def put(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        partition: int = 0,
        gap: int = 0,
    ) -> TopicRecord:
        """Append a record, behind a gap of offsets."""
        place = Partition(topic, partition)
        offset = self.end(place) + gap
        record = TopicRecord(place, offset, key, value, 1_700_000_000_000 + offset)
        self.records[place].append(record)
        return record

    def end(self, partition: Partition) -> int:
        """Return the offset of the next record."""
        found = self.records[partition]
        return max(found[-1].offset + 1 if found else 0, self.first.get(partition, 0))

    def remove_below(self, partition: Partition, offset: int) -> None:
        """Lose the beginning of a partition, as by its retention."""
        self.first[partition] = offset
        kept = [record for record in self.records[partition] if record.offset >= offset]
        self.records[partition] = kept

    def give(self, source: "MemorySource", *partitions: Partition) -> None:
        """Move partitions to a source: it and the former owner hear of it at their next `take`."""
        for partition in partitions or tuple(self.records):
            self.owners[partition] = source


class MemorySource(TopicSource):
    """What one process sees of topics in memory.

    A process that is `deaf` hears of no rebalance: it goes on with the partitions that it had.
    """

    def __init__(self, topics: MemoryTopics, assignment: Assignment) -> None:
        self._topics, self._assignment = topics, assignment
        self._places: dict[Partition, int] = {}
        self.is_deaf = False

    def take(self, limit: int, wait_s: float) -> Sequence[TopicRecord]:  # noqa: ARG002 - of the port
        """Return records that are there, and hear of a rebalance first."""
        if not self.is_deaf:
            self._hear()
        found: list[TopicRecord] = []
        for partition, place in sorted(self._places.items()):
            if place < self._topics.first.get(partition, 0):
                raise OffsetGoneError("the record is gone", wanted=place, earliest=0)
            for record in self._topics.records[partition]:
                if record.offset >= self._places[partition] and len(found) < limit:
                    found.append(record)
                    self._places[partition] = record.offset + 1
        return found

    def seek(self, partition: Partition, offset: int) -> None:
        self._places[partition] = offset

    def seen(self, topics: Iterable[str]) -> Mapping[str, SeenTopic]:
        if self._topics.away is not None:
            raise self._topics.away
        records, ids = self._topics.records, self._topics.ids
        return {
            topic: SeenTopic(
                ids[topic],
                tuple(each for each in records if each.topic == topic),
                tuple(each for each in sorted(self._topics.unled) if each.topic == topic),
            )
            for topic in topics
            if topic in ids
        }

    def held(self, partition: Partition) -> Held:
        return Held(self._topics.first.get(partition, 0), self.end(partition))

    def end(self, partition: Partition) -> int:
        return self._topics.end(partition)

    def close(self) -> None:
        self._topics.owners = {
            partition: owner
            for partition, owner in self._topics.owners.items()
            if owner is not self
        }

    def _hear(self) -> None:
        mine = {each for each, owner in self._topics.owners.items() if owner is self}
        if gone := [each for each in self._places if each not in mine]:
            for partition in gone:
                del self._places[partition]
            self._assignment.went(gone)
        if new := sorted(mine - self._places.keys()):
            self._places |= self._assignment.came(new)
