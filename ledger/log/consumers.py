"""Consumers: the processes that follow the log, as they registered themselves.

Each of them says now and then how far it is. A trim waits for the slowest, or its operator forgets
it. A pin is a consumer without a process: it keeps the events from its position on.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final, NamedTuple

from ledger.errors import TopicMissingError
from ledger.log.port import Log, Topic, records_between

WRITE_S: Final = 35.0
PIN: Final = "pin"
"""The role of a consumer that keeps events and reads none."""


class Consumer(NamedTuple):
    """A process that follows the log: its role and name, and the position that it has come to.

    `at` is when it said so, in milliseconds since 1970 UTC.
    """

    role: str
    name: str
    host: str
    position: int
    at: int
    version: int = 1


def key_of(domain: int, role: str, name: str) -> bytes:
    """Return the key of a consumer in its topic."""
    return f"{domain}/{role}/{name}".encode()


def register(log: Log, domain: int, consumer: Consumer) -> None:
    """Say how far a consumer is; raises TopicMissingError for a ledger without the topic."""
    put(log, key_of(domain, consumer.role, consumer.name), json.dumps(consumer._asdict()).encode())


def forget(log: Log, domain: int, role: str, name: str) -> None:
    """Let no trim wait for a consumer any more, until it registers itself again."""
    put(log, key_of(domain, role, name), b"")


def put(log: Log, key: bytes, value: bytes) -> None:
    """Write one record, and wait for its delivery."""
    with closing(log.writer(Topic.CONSUMERS)) as writer:
        writer.append(key, value)
        writer.flush(WRITE_S)


def registered(log: Log, domain: int = 0) -> list[Consumer] | None:
    """Return the consumers by role and name, None for a ledger without their topic."""
    try:
        log.topic_id(Topic.CONSUMERS)
        start, end = log.ends(Topic.CONSUMERS)
    except TopicMissingError:
        return None
    found: dict[bytes, Consumer | None] = {}
    for record in records_between(log, Topic.CONSUMERS, start, end, may_be_late=True):
        if record.key.startswith(f"{domain}/".encode()):
            found[record.key] = consumer_in(record.value)
    return sorted(each for each in found.values() if each is not None)


def behind(consumers: list[Consumer], below: int) -> Iterator[Consumer]:
    """Yield the consumers that have not read the event at a position."""
    return (each for each in consumers if each.position < below)


def consumer_in(value: bytes) -> Consumer | None:
    """Return the consumer in a record, None for a tombstone and for other bytes."""
    try:
        fields: dict[str, Any] = json.loads(value)
        found = Consumer(**fields)
    except (ValueError, TypeError, RecursionError):
        return None
    kinds = Consumer.__annotations__
    is_one = all(isinstance(part, kinds[name]) for name, part in found._asdict().items())
    return found if is_one else None
