"""The source of an ingest on a real Kafka, and an ingest whose processes are killed."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from ledger.errors import LogError, OffsetGoneError, TopicMissingError
from ledger.ingest.kafka_source import KafkaSource
from ledger.ingest.source import Held, Partition, TopicRecord
from ledger.machine.kafka.broker import Broker
from tests.ingest.kafka_topics import PATIENCE_S, create, produce, wait_for
from tests.integration.ingested import soaked

pytestmark = [pytest.mark.integration, pytest.mark.kafka]


class Owner:
    """Takes what comes to it, from the offsets that it was given."""

    def __init__(self, starts: Mapping[Partition, int] = {}) -> None:
        self.owned: set[Partition] = set()
        self.failure: LogError | None = None
        self._starts = starts

    def came(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        if self.failure is not None:
            raise self.failure
        self.owned.update(partitions)
        return {partition: self._starts.get(partition, 0) for partition in partitions}

    def went(self, partitions: Iterable[Partition]) -> None:
        self.owned.difference_update(partitions)


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"topic-{uuid4().hex[:8]}"
    create(broker.bootstrap, name)
    return name


def source(broker: Broker, topic: str, owner: Owner, group: str = "") -> KafkaSource:
    return KafkaSource(broker.bootstrap, group or f"group-of-{topic}", [topic], owner)


def taken(found: KafkaSource, count: int) -> list[TopicRecord]:
    """Return records once there are so many."""
    records: list[TopicRecord] = []

    def is_whole() -> bool:
        records.extend(found.take(100, 0.2))
        return len(records) >= count

    wait_for(is_whole)
    return records


def test_a_partition_goes_on_where_it_is_told(broker: Broker, topic: str) -> None:
    produce(broker.bootstrap, topic, [("k", {"n": number}) for number in range(5)])
    partition = next(
        each for each in (Partition(topic, 0), Partition(topic, 1)) if held(broker, each).end
    )
    owner = Owner({partition: 3})
    with closing(source(broker, topic, owner)) as found:
        records = taken(found, 2)
        found.seek(partition, 1)
        again = taken(found, 4)
        end, held_now = found.end(partition), found.held(partition)

    assert [record.offset for record in records] == [3, 4]
    assert [record.offset for record in again] == [1, 2, 3, 4]
    assert (records[0].key, records[0].value) == (b"k", b'{"n": 3}')
    assert (end, held_now) == (5, Held(0, 5))


def held(broker: Broker, partition: Partition) -> Held:
    with closing(source(broker, partition.topic, Owner(), "look")) as found:
        return found.held(partition)


def test_two_processes_share_the_partitions(broker: Broker, topic: str) -> None:
    one, two = Owner(), Owner()
    with closing(source(broker, topic, one)) as first:
        wait_for(lambda: first.take(1, 0.1) or len(one.owned) == 2)
        with closing(source(broker, topic, two)) as second:
            wait_for(
                lambda: (
                    (first.take(1, 0.1) or second.take(1, 0.1) or True)
                    and (len(one.owned), len(two.owned)) == (1, 1)
                )
            )
        wait_for(lambda: first.take(1, 0.1) or len(one.owned) == 2)

    assert two.owned == set()


def test_records_of_aborted_transactions_are_not_taken(broker: Broker, topic: str) -> None:
    settings = {"bootstrap.servers": broker.bootstrap, "transactional.id": topic}
    producer = Producer(settings)
    producer.init_transactions(PATIENCE_S)
    for value, ends in (("bad", producer.abort_transaction), ("good", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value, "k", 0)
        producer.flush(PATIENCE_S)
        ends(PATIENCE_S)

    with closing(source(broker, topic, Owner())) as found:
        records = taken(found, 1)

    assert [record.value for record in records] == [b"good"]


def test_records_that_are_gone_are_an_error_of_their_own(broker: Broker, topic: str) -> None:
    produce(broker.bootstrap, topic, [("k", {"n": number}) for number in range(5)])
    client = AdminClient({"bootstrap.servers": broker.bootstrap})
    for number in (0, 1):
        end = held(broker, Partition(topic, number)).end
        place = TopicPartition(topic, number, end)
        client.delete_records([place])[place].result(PATIENCE_S)

    with closing(source(broker, topic, Owner())) as found, pytest.raises(OffsetGoneError):
        wait_for(lambda: found.take(1, 0.2))


def test_what_keeps_a_partition_from_beginning_is_raised_as_it_is(
    broker: Broker, topic: str
) -> None:
    owner = Owner()
    owner.failure = LogError("not now")
    with closing(source(broker, topic, owner)) as found, pytest.raises(LogError) as raised:
        wait_for(lambda: found.take(1, 0.2))

    assert raised.value is owner.failure


def test_a_topic_that_is_missing_is_named(broker: Broker) -> None:
    with closing(source(broker, "none", Owner())) as found:
        assert found.seen(["none"]) == {}
        with pytest.raises(TopicMissingError, match="create it, or take it out of the mapping"):
            wait_for(lambda: found.take(1, 0.2))


@pytest.mark.slow
def test_tables_equal_their_topics_while_every_process_is_killed(tmp_path: Path) -> None:
    options = argparse.Namespace(minutes=0.5, rate=300, topics=3, every_s=6.0)
    with Broker.start(tmp_path / "kafka") as broker:
        found = soaked(broker, tmp_path, options)

    assert found.differences == ()
    assert found.strikes["kill"] >= 3
    assert len(found.fresh_ms) > 1000
