"""How long readers of a cache waited for the log, counted as in a histogram."""

from bisect import bisect_left
from itertools import accumulate
from typing import Final

BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Waits:
    """Counts waits; `timeouts` counts those in vain, `seconds` is the sum of all."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.timeouts = 0
        self._counts = [0] * (len(BOUNDS_S) + 1)

    @property
    def count(self) -> int:
        """The number of waits."""
        return sum(self._counts)

    def note(self, seconds: float, *, in_vain: bool) -> None:
        """Count one wait."""
        self._counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.seconds += seconds
        self.timeouts += in_vain

    def buckets(self) -> list[tuple[str, float]]:
        """Return the number of waits up to each bound, as Prometheus writes it."""
        names = [*map(str, BOUNDS_S), "+Inf"]
        return list(zip(names, map(float, accumulate(self._counts)), strict=True))
