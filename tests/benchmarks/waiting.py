"""Bounded waiting: nothing here runs for ever, whatever does not happen."""

import time
from collections.abc import Iterator


def within(seconds: float, what: str) -> Iterator[None]:
    """Yield again and again until the caller has seen enough; raises TimeoutError after a while."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
    raise TimeoutError(f"{what}: not within {seconds:.0f} s")
