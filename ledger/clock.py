"""Clocks: wall time for stamps, monotonic time for durations, never mixed.

A leader's clock may be ahead of a reader's. What a reader finds was committed before it looked, so
a version with a time that is yet to come counts for a question about now.
"""

import time
from datetime import UTC, datetime
from typing import Final, Protocol

NOW_MS: Final = 1_000
"""For so long a time counts as now where a version is of the future."""

AHEAD_MAX_MS: Final = 60_000
"""A time further ahead of the clock than this is wrong, and not a clock that goes a bit fast."""


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


def is_now(wanted_ms: float, newest_ms: int) -> bool:
    """Return whether a question about a time is about the newest version, of a future time."""
    now = SystemClock().now_ms()
    return newest_ms > now and wanted_ms >= now - NOW_MS


def has_come(at_ms: float) -> bool:
    """Return whether a time is not ahead of the clock."""
    return at_ms <= SystemClock().now_ms()


def is_wrong(at_ms: int) -> bool:
    """Return whether a time is ahead of the clock by more than clocks differ."""
    return at_ms > SystemClock().now_ms() + AHEAD_MAX_MS
