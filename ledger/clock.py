"""Clocks: wall time for stamps, monotonic time for durations, never mixed."""

import time
from datetime import UTC, datetime
from typing import Protocol


def time_text(at_ms: int) -> str:
    """Return milliseconds since 1970 as the text for output, such as 2026-01-31T12:00:00.000Z."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{at.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


class Clock(Protocol):
    """A source of time; a test gives its own."""

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
