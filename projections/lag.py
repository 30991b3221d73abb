"""Lag: how far a reader of the log is behind it."""

from typing import NamedTuple

from ledger.clock import Clock
from ledger.log.port import Log, Topic


class Lag(NamedTuple):
    """How far a reader is behind the log: records not read, and for how many ms there are any."""

    position: int
    records: int
    behind_ms: int


class Backlog:
    """What one reader of a log has not read yet; remembers since when there is something."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._since_s: float | None = None

    def measure(self, clock: Clock, position: int, offset: int, at_ms: int) -> Lag:
        """Return how far the reader is behind that read up to an offset, asked of the broker now.

        `at_ms` is the time of the event at `position`. It may be long ago, for nothing happens in
        an idle ledger: so time counts from when somebody first saw that there is more to read.
        Raises LogUnavailableError when the broker does not answer: then nobody knows.
        """
        _, end = self._log.ends(Topic.EVENTS)
        records, now_s = max(0, end - offset), clock.monotonic_s()
        if not records:
            self._since_s = None
            return Lag(position, 0, 0)
        if self._since_s is None:
            self._since_s = now_s
        seen_ms = round((now_s - self._since_s) * 1000)
        return Lag(position, records, max(0, min(seen_ms, clock.now_ms() - at_ms)))
