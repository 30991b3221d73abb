"""Clocks: wall time for stamps, monotonic time for durations, never mixed."""

import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time; a test brings its own."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970 UTC; may jump."""
        ...

    def monotonic_s(self) -> float:
        """Return seconds since some fixed instant; never goes back."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def now_ms(self) -> int:
        """Return the wall time in milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Return the monotonic time in seconds."""
        return time.monotonic()
