"""Lag: how far a reader of the log is behind it."""

from typing import NamedTuple

from ledger.clock import Clock
from ledger.log.port import Log, Topic


class Lag(NamedTuple):
    """How far a reader is behind the log: records not read, ms since the last event if any."""

    position: int
    records: int
    behind_ms: int


def lag_of(log: Log, clock: Clock, position: int, offset: int, at_ms: int) -> Lag:
    """Return how far somebody is behind who read up to an offset, asked of the broker now.

    `at_ms` is the time of the event at `position`. Raises LogUnavailableError when the broker does
    not answer: then nobody knows.
    """
    _, end = log.ends(Topic.EVENTS)
    records = max(0, end - offset)
    return Lag(position, records, max(0, clock.now_ms() - at_ms) if records else 0)
