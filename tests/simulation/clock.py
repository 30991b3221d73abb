"""Virtual time: one true time for the world, and for each process a clock that may be wrong."""

import heapq
from collections.abc import Callable
from itertools import count

STARTED_AT_S = 1_700_000_000.0


class Timeline:
    """True time in seconds, and what is to happen when; ties go in the order of asking."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def after(self, delay_s: float, act: Callable[[], None]) -> None:
        """Let something happen `delay_s` from now."""
        heapq.heappush(self._due, (self.now_s + delay_s, next(self._order), act))

    def advance(self, until_s: float) -> None:
        """Let everything happen that is due up to then."""
        while self._due and self._due[0][0] <= until_s:
            self.now_s, _, act = heapq.heappop(self._due)
            act()
        self.now_s = max(self.now_s, until_s)


class ProcessClock:
    """The clocks of one process: wall time off by `error_s`, monotonic time from a point it chose.

    A jump changes the error; the monotonic clock runs true.
    """

    def __init__(self, timeline: Timeline, error_s: float, monotonic_from_s: float) -> None:
        self._timeline = timeline
        self._monotonic_from_s = monotonic_from_s
        self.error_s = error_s

    def now_ms(self) -> int:
        """Return the wall time in milliseconds."""
        return int((STARTED_AT_S + self._timeline.now_s + self.error_s) * 1000)

    def monotonic_s(self) -> float:
        """Return the monotonic time in seconds."""
        return self._monotonic_from_s + self._timeline.now_s
