"""Consumers: the processes that follow the log, as they registered themselves.

Each of them says now and then from which position it would read again, if it were started anew. A
trim waits for the slowest, or its operator forgets it. A cache begins at a state checkpoint each
time, so it counts while it runs only. A pin is a consumer without a process: it keeps the events
from its position on.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from socket import gethostname
from typing import Any, Final, NamedTuple

from ledger.errors import SettingsError, TopicMissingError
from ledger.log.log_end import last_position
from ledger.log.port import Log, Topic, records_between
from ledger.log.trimmed import start_of

WRITE_S: Final = 35.0
PIN: Final = "pin"
"""The role of a consumer that keeps events and reads none."""

CACHE: Final = "cache"
RUNS_MS: Final = 15 * 60 * 1000
"""A cache that was silent for so long has ended."""
PIN_CHARS_MAX: Final = 100


class Consumer(NamedTuple):
    """A process that follows the log: its role and name, and the position it would begin at anew.

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


def behind(consumers: Iterable[Consumer], below: int, now_ms: int) -> Iterator[Consumer]:
    """Yield the consumers that need an event below a position."""
    for each in consumers:
        has_ended = each.role == CACHE and now_ms - each.at > RUNS_MS
        if each.position < below and not has_ended:
            yield each


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


def pin(log: Log, name: str, position: int, now_ms: int, domain: int = 0) -> None:
    """Keep the events from a position on, whatever is trimmed later.

    Raises SettingsError for a name that is no name, and a position that the log has not or no more.
    """
    if not 0 < len(name) <= PIN_CHARS_MAX or not name.isprintable():
        raise SettingsError(f"a pin must have a name of 1 to {PIN_CHARS_MAX} signs, got {name!r}")
    first, last = start_of(log, domain).head.position + 1, last_position(log, domain)
    if not first <= position <= last:
        raise SettingsError(
            f"a pin must be at a position that the log has, {first} to {last}, got {position}"
        )
    register(log, domain, Consumer(PIN, name, gethostname(), position, now_ms))


def unpin(log: Log, name: str, domain: int = 0) -> None:
    """Remove a pin; raises SettingsError for one that is not there."""
    pins = [each.name for each in registered(log, domain) or () if each.role == PIN]
    if name not in pins:
        raise SettingsError(f"there is no pin {name}; the pins are {', '.join(pins) or 'none'}")
    forget(log, domain, PIN, name)
