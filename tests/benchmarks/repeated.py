"""Timing of calls that are over quickly: repeated, in turn with what they are compared to."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ledger.machine.process import GC_THRESHOLDS

# Many short rounds: the median is then of those that nothing else interrupted.
ROUNDS: Final = 61
US: Final = 1e6

Call = Callable[[], object]


def rounds_of(
    ours: Call, other: Call, *, calls: int, other_calls: int = 0, rounds: int = ROUNDS
) -> list[tuple[float, float]]:
    """Return the microseconds of one call of each, round by round, after one round unmeasured."""
    other_calls = other_calls or calls
    with collected_as_in_a_role():
        pairs = [(us(ours, calls), us(other, other_calls)) for _ in range(rounds + 1)]
    return pairs[1:]


def us(call: Call, calls: int) -> float:
    """Return how many microseconds one of several calls takes."""
    began_s = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began_s) / calls * US


@contextmanager
def collected_as_in_a_role() -> Iterator[None]:
    """Set up the garbage collection as the process of a role has it after its recovery."""
    gc.collect()
    gc.freeze()
    thresholds = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
