"""Topics of a real Kafka, for tests of an ingest."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event as Signal
from time import monotonic
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

PATIENCE_S = 60.0
LOOK_S = 0.1


def create(bootstrap: str, topic: str, partitions: int = 2, **settings: Any) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap, **settings})
    client.create_topics([NewTopic(topic, partitions, 1)])[topic].result(PATIENCE_S)


def produce(
    bootstrap: str, topic: str, records: Iterable[tuple[str | None, Any]], **settings: Any
) -> None:
    """Produce records of key and value; a value that is no text or bytes becomes JSON."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, **settings})
    for key, value in records:
        is_ready = value is None or isinstance(value, str | bytes)
        producer.produce(topic, value if is_ready else json.dumps(value), key)
    assert producer.flush(PATIENCE_S) == 0


def write_mapping(folder: Path, text: str) -> Path:
    path = folder / "mapping.toml"
    path.write_text(text)
    return path


def wait_for(is_so: Callable[[], Any]) -> None:
    """Wait until something is so; raises AssertionError."""
    until_s = monotonic() + PATIENCE_S
    while not is_so():
        assert monotonic() < until_s
        Signal().wait(LOOK_S)
