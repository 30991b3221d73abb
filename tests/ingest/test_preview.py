"""A preview reads each partition to its end, however slowly the records come."""

from collections.abc import Sequence

from ledger.ingest.preview import Starts, first_records
from ledger.ingest.source import Partition, TopicRecord
from tests.ingest.topics import MemorySource, MemoryTopics

FIRST, SECOND = Partition("events", 0), Partition("users", 0)


class SlowSource(MemorySource):
    """Gives one record at a time, and nothing in every second call, as a busy broker does."""

    calls = 0

    def take(self, limit: int, wait_s: float) -> Sequence[TopicRecord]:
        self.calls += 1
        return super().take(self.calls % 2 and min(1, limit), wait_s)


def previewed(topics: MemoryTopics, offsets: dict[Partition, int]) -> list[tuple[Partition, int]]:
    starts = Starts(offsets)
    source = SlowSource(topics, starts)
    topics.give(source)
    source.calls = 1
    return [(record.partition, record.offset) for record in first_records(source, starts)]


def test_records_that_come_after_an_empty_answer_are_shown() -> None:
    topics = MemoryTopics()
    for partition in (FIRST, SECOND):
        topics.create(partition.topic)
        for _ in range(3):
            topics.put(partition.topic, b"{}")

    shown = previewed(topics, {FIRST: 2, SECOND: 0})

    assert sorted(shown) == [(FIRST, 2), (SECOND, 0), (SECOND, 1), (SECOND, 2)]


def test_partitions_without_new_records_are_not_waited_for() -> None:
    topics = MemoryTopics()
    topics.create("events")
    topics.create("users")
    topics.put("users", b"{}")

    assert previewed(topics, {FIRST: 0, SECOND: 1}) == []
