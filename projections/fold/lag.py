"""Lag: how far a reader of the log is behind it."""

from collections import deque
from threading import Lock
from typing import Final, NamedTuple

from ledger.clock import Clock
from ledger.log.port import Log, Topic

LOOKS_MAX: Final = 1_000
# A readiness probe waits about 5 s, and may have to wait for another probe's answer first.
ASK_S: Final = 2.0


class Lag(NamedTuple):
    """How far a reader is behind the log: the number of unread records, and the ms behind."""

    position: int
    records: int
    behind_ms: int


class LogEnd(NamedTuple):
    """The end of the log, and the monotonic time at which it was read."""

    end: int
    at_s: float


class Backlog:
    """The records of a topic that one reader has not read yet; threads may share it.

    It keeps earlier ends of the log until the reader has passed them.
    """

    def __init__(self, log: Log, topic: Topic = Topic.EVENTS) -> None:
        self._log = log
        self._topic = topic
        self._turn = Lock()
        self._looks: deque[LogEnd] = deque()
        # All that the log held at that time is read; None while nothing is unread.
        self._read_s: float | None = None

    def measure(self, clock: Clock, position: int, offset: int, at_ms: int) -> Lag:
        """Return how far a reader at `offset` is behind the end of the broker's log.

        `at_ms` is the time of the event at `position`, the last one read. The time behind is
        measured from it, within bounds: an idle ledger's last event may be long ago, and another
        machine's clock may differ. It is at least the time for which one record was seen unread,
        and at most the time for which any record was. Raises LogUnavailableError if the broker does
        not answer.
        """
        _, end = self._log.ends(self._topic, ASK_S)
        now = LogEnd(end, clock.monotonic_s())
        with self._turn:
            least_s, most_s = self._waited(now, offset)
        behind_ms = max(round(least_s * 1000), clock.now_ms() - at_ms)
        return Lag(position, max(0, end - offset), min(round(most_s * 1000), behind_ms))

    def _waited(self, now: LogEnd, offset: int) -> tuple[float, float]:
        """Return the least and the greatest time for which the next record was unread, in s."""
        looks = self._looks
        while looks and looks[0].end <= offset:
            self._read_s = looks.popleft().at_s
        if now.end <= offset:
            self._read_s = None
            return 0.0, 0.0
        if self._read_s is None:
            self._read_s = now.at_s
        if not looks or (now.end > looks[-1].end and len(looks) < LOOKS_MAX):
            looks.append(now)
        return now.at_s - looks[0].at_s, now.at_s - self._read_s
