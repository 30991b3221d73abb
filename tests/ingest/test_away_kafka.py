"""An ingest of a real Kafka whose topic is made anew, and whose broker ends and comes back."""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ledger.client import Ledger
from ledger.errors import OffsetGoneError, TopicMissingError
from ledger.ingest.ingest import Ingest
from ledger.ingest.mapping import mapping_of
from ledger.ingest.opening import opened_ingest
from ledger.ingest.status import statuses
from ledger.machine.kafka.broker import Broker
from ledger.testing import InMemoryLedger
from tests.ingest.kafka_topics import PATIENCE_S, create, produce, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.kafka]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with InMemoryLedger() as memory:
        made = memory.connect(warehouse=tmp_path)
        made.create_table("db.events", [("id", "BIGINT")])
        yield made


def of_topic(ledger: Ledger, topic: str, bootstrap: str) -> Ingest:
    """Return an ingest of a topic; it commits as seldom as an idle one."""
    topics = [{"topic": topic, "table": "db.events"}]
    made = opened_ingest(ledger, mapping_of({"name": "shop", "topics": topics}), bootstrap, {})
    made.prepare()
    return made


def rounds(ingest: Ingest, is_so: Callable[[], Any]) -> None:
    """Let an ingest work until something is so."""

    def is_so_after_a_round() -> Any:
        ingest.gather()
        ingest.commit()
        return is_so()

    wait_for(is_so_after_a_round)


def ids(ledger: Ledger) -> list[int]:
    return sorted(row["id"] for row in ledger.scan("db.events").to_arrow().to_pylist())


def make_anew(bootstrap: str, topic: str) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap})
    client.delete_topics([topic])[topic].result(PATIENCE_S)

    def is_made() -> bool:
        # The broker takes a moment to delete a topic.
        with suppress(KafkaException):
            create(bootstrap, topic, 1)
            return True
        return False

    wait_for(is_made)


def test_a_longer_topic_of_the_same_name_is_not_taken_for_the_old_one(
    broker: Broker, ledger: Ledger
) -> None:
    topic = f"topic-{uuid4().hex[:8]}"
    create(broker.bootstrap, topic, 1)
    produce(broker.bootstrap, topic, [(None, {"id": number}) for number in range(3)])
    with closing(of_topic(ledger, topic, broker.bootstrap)) as ingest:
        rounds(ingest, lambda: len(ids(ledger)) == 3)
        make_anew(broker.bootstrap, topic)
        produce(broker.bootstrap, topic, [(None, {"id": 100 + number}) for number in range(10)])

        with pytest.raises(OffsetGoneError, match="was made anew"):
            rounds(ingest, lambda: False)

    assert ids(ledger) == [0, 1, 2]


def test_a_broker_that_ends_in_mid_run_is_told_until_it_is_back(
    ledger: Ledger, tmp_path: Path
) -> None:
    folder = tmp_path / "kafka"
    first = Broker.start(folder)
    create(first.bootstrap, "events", 1)
    with closing(of_topic(ledger, "events", first.bootstrap)) as ingest:
        produce(first.bootstrap, "events", [(None, {"id": 1})])
        rounds(ingest, lambda: ids(ledger) == [1])
        well = ingest.tally.trouble
        first.kill()
        rounds(ingest, lambda: ingest.tally.away)
        # An empty round does not hide it.
        ingest.gather()
        ingest.commit()
        away = ingest.tally.trouble
        with Broker.start(folder) as again:
            produce(again.bootstrap, "events", [(None, {"id": 2})])
            rounds(ingest, lambda: ids(ledger) == [1, 2] and not ingest.tally.trouble)

    assert well == ""
    assert "no answer in time" in away


def test_the_status_has_partitions_that_were_never_read_and_names_a_topic_that_is_missing(
    broker: Broker, ledger: Ledger
) -> None:
    topic = f"topic-{uuid4().hex[:8]}"
    plan = mapping_of({"name": "shop", "topics": [{"topic": topic, "table": "db.events"}]})
    with pytest.raises(TopicMissingError, match=f"there is no topic {topic}"):
        statuses(ledger, plan, broker.bootstrap, {})
    create(broker.bootstrap, topic, 1)
    produce(broker.bootstrap, topic, [(None, {"id": 1})])
    before = statuses(ledger, plan, broker.bootstrap, {})
    with closing(of_topic(ledger, topic, broker.bootstrap)) as ingest:
        rounds(ingest, lambda: ids(ledger) == [1])
    after = statuses(ledger, plan, broker.bootstrap, {})

    assert [(each.offset, each.end, each.lag) for each in before] == [(None, 1, None)]
    assert [(each.offset, each.end, each.lag) for each in after] == [(1, 1, 0)]


def test_brokers_that_never_answer_are_told(ledger: Ledger) -> None:
    with closing(of_topic(ledger, "events", "127.0.0.1:1")) as ingest:
        rounds(ingest, lambda: ingest.tally.away)

        assert "no answer in time" in ingest.tally.trouble
