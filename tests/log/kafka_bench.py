"""The bench of the contract over a real Kafka, for every test that harms topics there."""

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Topic
from tests.log.contract import WAIT_S, Bench

PAUSE_S = 0.05


def admin(bootstrap: str) -> AdminClient:
    """Return an admin client; it must be held for as long as an answer is waited for."""
    return AdminClient({"bootstrap.servers": bootstrap})


def kafka_bench(log: KafkaLog, bootstrap: str) -> Bench:
    """Return the bench of a ledger whose topics exist."""

    def remove_below(topic: Topic, offset: int) -> None:
        place = TopicPartition(topic_name(log.ledger, topic), log.domain, offset)
        client = admin(bootstrap)
        client.delete_records([place])[place].result(WAIT_S)

    def recreate(topic: Topic) -> None:
        delete_topic(bootstrap, topic_name(log.ledger, topic))
        eventually(lambda: create_topics(bootstrap, log.ledger))

    return Bench(log, remove_below, recreate)


def delete_topic(bootstrap: str, name: str) -> None:
    """Delete a topic and wait until it is gone."""
    client = admin(bootstrap)
    client.delete_topics([name])[name].result(WAIT_S)
    eventually(lambda: name not in client.list_topics(timeout=WAIT_S).topics)


def eventually(attempt: Callable[[], Any], wait_s: float = WAIT_S) -> None:
    """Repeat an attempt until it gives something true: a broker goes on after its answer."""
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        try:
            if attempt():
                return
        except KafkaException:
            pass
        time.sleep(PAUSE_S)
    message = f"nothing came of {attempt} within {wait_s} s"
    raise TimeoutError(message)
