"""Visibility: how long after its receipt a commit can be read, store by store.

A watch reads the position of a store, as any reader of the host can, and records when it grew.
Afterwards every commit of the demo is measured, not a sample: a commit is visible from the first
look that found the store at its position or later.
"""

import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import quantiles
from threading import Event as Signal
from threading import Thread
from typing import Final, NamedTuple, Self

from ledger.errors import LedgerError
from ledger.reads.port import Reads
from tests.demo.report import wait_until

LOOK_S: Final = 0.004
NS_PER_MS: Final = 1_000_000
PERCENT: Final = 100


class SeenPosition(NamedTuple):
    """One look: the position found, and the monotonic time."""

    position: int
    at_ns: int


class TimedCommit(NamedTuple):
    """A commit: its position, and the monotonic time of its receipt."""

    position: int
    at_ns: int


class Delays(NamedTuple):
    """Milliseconds from receipt to visibility, of `commits` commits."""

    commits: int
    p50: float
    p99: float

    def __str__(self) -> str:
        return f"p50 {self.p50:.0f} ms, p99 {self.p99:.0f} ms of {self.commits} commits"


class Watch:
    """Looks at one store from `start` to `stop`, in a thread of its own."""

    def __init__(self, reads: Reads) -> None:
        self.looks: list[SeenPosition] = []
        self._reads = reads
        self._failure: LedgerError | None = None
        self._stop = Signal()
        self._thread = Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Start the looks."""
        self._thread.start()

    def stop(self) -> None:
        """End the looks."""
        self._stop.set()
        self._thread.join()

    def has_seen(self, position: int) -> bool:
        """Return whether a look found the store there; raises the error of a failed look."""
        if self._failure is not None:
            raise self._failure
        return bool(self.looks) and self.looks[-1].position >= position

    def _run(self) -> None:
        seen = 0
        try:
            while not self._stop.wait(LOOK_S):
                position = self._reads.position()
                if position != seen:
                    seen = position
                    self.looks.append(SeenPosition(position, time.monotonic_ns()))
        except LedgerError as error:
            self._failure = error


class Watches:
    """Looks at stores, given by name, inside a `with` block."""

    def __init__(self, stores: Mapping[str, Reads]) -> None:
        self._watches = {name: Watch(reads) for name, reads in stores.items()}

    def delays(self, commits: Sequence[TimedCommit]) -> dict[str, Delays]:
        """Return how soon these commits could be read, by store; waits for the last of them."""
        last = max(commit.position for commit in commits)
        for name, watch in self._watches.items():
            wait_until(partial(watch.has_seen, last), f"{name} has reached position {last}")
        return {
            name: percentiles(delays_ms(watch.looks, commits))
            for name, watch in self._watches.items()
        }

    def __enter__(self) -> Self:
        for watch in self._watches.values():
            watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for watch in self._watches.values():
            watch.stop()


def delays_ms(looks: Sequence[SeenPosition], commits: Iterable[TimedCommit]) -> list[float]:
    """Return the delay of each commit that a look has found visible.

    A store may be ahead of the receipt, which counts as no delay.
    """
    found = []
    for commit in commits:
        first = bisect_left(looks, commit.position, key=lambda look: look.position)
        if first < len(looks):
            found.append(max(0.0, (looks[first].at_ns - commit.at_ns) / NS_PER_MS))
    return found


def percentiles(delays: Sequence[float]) -> Delays:
    """Return the percentiles of two delays or more."""
    cuts = quantiles(delays, n=PERCENT, method="inclusive")
    return Delays(len(delays), cuts[PERCENT // 2 - 1], cuts[-1])
