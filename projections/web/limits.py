"""Limits: what one client of HTTP may take, so that the others are answered all the same.

A client may be slow, greedy, or both on purpose. Connections, time, heads, bodies and listings are
bounded each; health is asked beside all of these bounds.
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
    """What the server grants a connection; durations are in seconds.

    The head of a request has `head_s` and `head_bytes_max`, its body `body_s` and `body_bytes_max`.
    A kept connection may be idle for `idle_s`. A client that does not take its answer is given up
    after `write_s`, and so is one that takes less than a chunk in `refill_s` for long. A connection
    that is being closed is cut after `linger_s`. One that waits for its client longer than
    `grace_s` is cut where `connections_max` are open and another one comes. Half as many questions
    are under way at once; `stop_s` are left to them when the server stops.
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
        """How many questions may be under way at once; health is none of them."""
        return self.connections_max // 2


LIMITS: Final = WebLimits()
