"""Lag: how far a reader of the log is behind it."""

from collections import deque
from threading import Lock
from typing import Final, NamedTuple

from ledger.clock import Clock
from ledger.log.port import Log, Topic

LOOKS_MAX: Final = 1_000
# Who asks whether this process is ready waits for some 5 s, and an answer may not be the first one.
ASK_S: Final = 2.0


class Lag(NamedTuple):
    """How far a reader is behind the log: records not read, and for how many ms there are any."""

    position: int
    records: int
    behind_ms: int


class Look(NamedTuple):
    """Where the log ended, and when that was seen, by the monotonic clock."""

    end: int
    at_s: float


class Backlog:
    """What one reader of a log has not read yet; threads may share it.

    It remembers where the log ended at earlier looks, until that has been read.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._turn = Lock()
        self._looks: deque[Look] = deque()
        # What the log held at that time is read; None while nothing is unread.
        self._read_s: float | None = None

    def measure(self, clock: Clock, position: int, offset: int, at_ms: int) -> Lag:
        """Return how far a reader at `offset` is behind the log, whose end the broker is asked now.

        `at_ms` is the time of the event at `position`, the last one read. The time behind is
        measured from it, within bounds: an idle ledger's last event may be long ago, and another
        machine's clock may differ. It is at least as long as some record was seen to be unread, and
        at most as long as there has been any unread one. Raises LogUnavailableError when the broker
        does not answer: then nobody knows.
        """
        _, end = self._log.ends(Topic.EVENTS, ASK_S)
        now = Look(end, clock.monotonic_s())
        with self._turn:
            least_s, most_s = self._waited(now, offset)
        behind_ms = max(round(least_s * 1000), clock.now_ms() - at_ms)
        return Lag(position, max(0, end - offset), min(round(most_s * 1000), behind_ms))

    def _waited(self, now: Look, offset: int) -> tuple[float, float]:
        """Return for how many seconds, at least and at most, the next record has been unread."""
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
