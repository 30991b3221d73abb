"""Consumers: the processes that follow the log, as they registered themselves.

Each of them says now and then from which position it would read again, if it were started anew. A
trim waits for the slowest, or its operator forgets it. A cache and an ingester begin at a state
checkpoint each time, so they count while they run only. A pin is a consumer without a process: it
keeps the events from its position on. A record that this version cannot read is a consumer that
needs all events: a later version may have written it.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from socket import gethostname
from threading import Event as Signal
from time import monotonic
from typing import Any, Final, NamedTuple

from ledger.errors import SettingsError, TopicMissingError
from ledger.log.log_end import last_position
from ledger.log.port import Log, Record, Topic, records_between
from ledger.log.trimmed import marks_to_come, start_of

WRITE_S: Final = 35.0
PIN: Final = "pin"
"""The role of a consumer that keeps events and reads none."""

CACHE: Final = "cache"
INGEST: Final = "ingest"
BEGIN_ANEW: Final = frozenset({CACHE, INGEST})
"""The roles of processes that begin at the newest state checkpoint each time."""
RUNS_MS: Final = 15 * 60 * 1000
"""A process of such a role that was silent for so long has ended."""
PIN_CHARS_MAX: Final = 100
VERSION: Final = 1
UNREADABLE: Final = 0
"""The version of a consumer whose record cannot be read."""
REMOVES_S: Final = 60.0
"""How long after its mark a trim may still remove records, seen from another process."""
LOOK_S: Final = 0.2


class Consumer(NamedTuple):
    """A process that follows the log: its role and name, and the position it would begin at anew.

    `at` is when it said so, in milliseconds since 1970 UTC.
    """

    role: str
    name: str
    host: str
    position: int
    at: int
    version: int = VERSION


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
            found[record.key] = consumer_in(record.value) or unreadable(record)
    return sorted(each for each in found.values() if each is not None)


def behind(consumers: Iterable[Consumer], below: int, now_ms: int) -> Iterator[Consumer]:
    """Yield the consumers that need an event below a position."""
    for each in consumers:
        if each.position < below and not has_ended(each, now_ms):
            yield each


def has_ended(consumer: Consumer, now_ms: int) -> bool:
    """Return whether a consumer begins anew each time, and was silent for long."""
    is_known = consumer.version != UNREADABLE
    return is_known and consumer.role in BEGIN_ANEW and now_ms - consumer.at > RUNS_MS


def consumer_in(value: bytes) -> Consumer | None:
    """Return the consumer in a record, None for a tombstone and for other bytes."""
    try:
        fields: dict[str, Any] = json.loads(value)
        found = Consumer(**fields)
    except (ValueError, TypeError, RecursionError):
        return None
    kinds = Consumer.__annotations__
    is_one = all(isinstance(part, kinds[name]) for name, part in found._asdict().items())
    return found if is_one and found.version == VERSION else None


def unreadable(record: Record) -> Consumer | None:
    """Return the consumer of a record that is no tombstone and cannot be read.

    Its key names it, and it needs all events. None for a tombstone, and for a key of no consumer.
    """
    _, role, name = [*record.key.decode(errors="replace").split("/", 2), "", ""][:3]
    if not record.value or not role or not name:
        return None
    return Consumer(role, name, "", 0, record.timestamp, UNREADABLE)


def pin(log: Log, name: str, position: int, now_ms: int, domain: int = 0) -> None:
    """Keep the events from a position on, whatever is trimmed later.

    A trim that is planned already finds the pin, or the pin finds the mark of the trim, and waits
    until the records left or the trim must have given up. Raises SettingsError for a name that is
    no name, and a position that the log has not or no more.
    """
    if not 0 < len(name) <= PIN_CHARS_MAX or not name.isprintable():
        raise SettingsError(f"a pin must have a name of 1 to {PIN_CHARS_MAX} signs, got {name!r}")
    first, last = start_of(log, domain).head.position + 1, last_position(log, domain)
    if not first <= position <= last:
        raise SettingsError(
            f"a pin must be at a position that the log has, {first} to {last}, got {position}"
        )
    pins = (each for each in registered(log, domain) or () if each.role == PIN)
    former = next((each for each in pins if each.name == name), None)
    register(log, domain, Consumer(PIN, name, gethostname(), position, now_ms))
    begun = begun_behind(log, position, now_ms, domain)
    if begun > position:
        forget(log, domain, PIN, name) if former is None else register(log, domain, former)
        raise SettingsError(
            f"a trim took the events below position {begun} while the pin was set, so it keeps "
            f"nothing and was removed. A pin must be at position {begun} or later, got {position}"
        )


def begun_behind(log: Log, position: int, now_ms: int, domain: int) -> int:
    """Return where a log begins once no trim above a position is under way.

    An older mark is of a trim that was interrupted: it removes nothing before it is planned anew.
    """
    until_s, pause = monotonic() + REMOVES_S, Signal()
    while True:
        marks = marks_to_come(log, position, now_ms, domain)
        begun = start_of(log, domain).head.position + 1
        if begun > position or not marks or monotonic() >= until_s:
            return begun
        pause.wait(LOOK_S)


def unpin(log: Log, name: str, domain: int = 0) -> None:
    """Remove a pin; raises SettingsError for one that is not there."""
    pins = [each.name for each in registered(log, domain) or () if each.role == PIN]
    if name not in pins:
        raise SettingsError(f"there is no pin {name}; the pins are {', '.join(pins) or 'none'}")
    forget(log, domain, PIN, name)
