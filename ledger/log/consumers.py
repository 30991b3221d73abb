"""Consumers: the processes that follow the log, as they registered themselves.

Each of them says now and then from which position it would read again, if it were started anew. A
trim waits for the slowest, or its operator forgets it. A cache begins at a state checkpoint each
time, so it counts while it runs only. A pin is a consumer without a process: it keeps the events
from its position on.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from socket import gethostname
from typing import Any, Final, NamedTuple

from ledger.clock import Clock
from ledger.errors import LedgerError, TopicMissingError
from ledger.log.port import Log, Topic, records_between
from ledger.log_lines import LogLines

WRITE_S: Final = 35.0
PIN: Final = "pin"
"""The role of a consumer that keeps events and reads none."""

CACHE: Final = "cache"
RUNS_MS: Final = 15 * 60 * 1000
"""A cache that was silent for so long has ended."""

MOVED_S: Final = 30.0
STILL_S: Final = 10 * 60.0
"""A consumer says how far it is so often: when it has moved, and when it has not."""

log_lines = LogLines("lakeledger.consumers")


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


class Registration:
    """The entry of one process among the consumers, kept while it follows the log.

    A ledger without the topic has no consumers, and a broker that is away takes no word of them:
    both are logged once and stop no process.
    """

    def __init__(self, log: Log, role: str, name: str, clock: Clock, domain: int = 0) -> None:
        self._log, self._domain, self._clock = log, domain, clock
        self._role, self._name = role, name
        self._said: tuple[float, int] | None = None
        self._is_told = False

    def note(self, position: int) -> None:
        """Say from which position this process would read again, if that is due."""
        if position < 1 or not self._is_due(position):
            return
        self._said = self._clock.monotonic_s(), position
        said = Consumer(self._role, self._name, gethostname(), position, self._clock.now_ms())
        try:
            self._log.topic_id(Topic.CONSUMERS)
            register(self._log, self._domain, said)
        except LedgerError as problem:
            if not self._is_told:
                log_lines.warning("not registered", role=self._role, why=str(problem))
            self._is_told = True

    def _is_due(self, position: int) -> bool:
        if self._said is None:
            return True
        silent_s, before = self._clock.monotonic_s() - self._said[0], self._said[1]
        return silent_s >= (MOVED_S if position != before else STILL_S)


def name_of(place: Path) -> str:
    """Return the name of the consumer that keeps what it made in a folder: the same for ever."""
    text = f"{gethostname()}:{place.absolute()}"
    return f"{place.name}-{blake2b(text.encode(), digest_size=4).hexdigest()}"


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
