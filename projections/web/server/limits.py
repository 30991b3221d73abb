"""Limits: what one client of HTTP may use, so that the others are still answered.

A client may be slow, greedy, or both on purpose. Connections, time, heads, bodies and listings each
have a bound; requests for health have none.
"""

import resource
from dataclasses import dataclass, field
from typing import Final

CONNECTIONS_MAX: Final = 1024


def connections_max() -> int:
    """Return how many connections may be open: half of the files that this process may open."""
    files_max, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files_max == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    return max(16, min(CONNECTIONS_MAX, files_max // 2))


@dataclass(frozen=True, slots=True)
class WebLimits:
    """The bounds of a connection; durations are in seconds.

    The head of a request has `head_s` and `head_bytes_max`, its body `body_s` and `body_bytes_max`.
    A kept connection may be idle for `idle_s`. A client that does not take its answer is cut off
    after `write_s`, and so is a client that for long takes less than a chunk in `refill_s`. A
    connection that is being closed is cut after `linger_s`. If `connections_max` are open and
    another one comes, a connection that waits for its client longer than `grace_s` is cut. Half as
    many questions may be under way at once; they have `stop_s` left when the server stops.
    """

    head_s: float = 10.0
    head_bytes_max: int = 32 << 10
    body_s: float = 10.0
    body_bytes_max: int = 8 << 20
    idle_s: int = 30
    write_s: float = 10.0
    refill_s: float = 1.0
    linger_s: float = 2.0
    grace_s: float = 0.25
    stop_s: int = 2
    connections_max: int = field(default_factory=connections_max)

    @property
    def requests_max(self) -> int:
        """How many questions may be under way at once, apart from health."""
        return self.connections_max // 2


LIMITS: Final = WebLimits()
