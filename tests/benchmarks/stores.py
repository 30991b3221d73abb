"""Stores that other processes write, opened as soon as they are there."""

from pathlib import Path
from threading import Event as Signal
from typing import Final

from projections.errors import StoreMissingError
from projections.queries import StoreReads, open_reads
from tests.benchmarks.waiting import within

READY_S: Final = 90.0
LOOK_S: Final = 0.1


def opened(store: Path) -> StoreReads:
    """Return the reads of a store as soon as it is there."""
    never = Signal()
    for _ in within(READY_S, f"a store at {store}"):
        try:
            return open_reads(store)
        except StoreMissingError:
            never.wait(LOOK_S)
    raise AssertionError("waiting ends with a store or an error")
