"""A block of a generator that nobody finished ends where its garbage is found, in any thread."""

import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.testing import InMemoryLedger

PATIENCE_S = 10.0
BUSY = ClientSettings(timeout_s=20.0, beat_s=0.01)


class Collection:
    """Collects garbage where a function begins, once it is due."""

    def __init__(self, function: str) -> None:
        self.is_due = False
        self._function = function

    def trace(self, frame: FrameType, _event: str, _about: Any) -> None:
        if self.is_due and frame.f_code.co_qualname == self._function:
            self.is_due = False
            gc.collect()


@contextmanager
def collecting_in(function: str) -> Iterator[Collection]:
    """Let garbage be collected at one place alone, in threads that start from here on."""
    collection, before = Collection(function), threading.gettrace()
    gc.disable()
    threading.settrace(collection.trace)
    try:
        yield collection
    finally:
        threading.settrace(before)
        gc.enable()


def rows(ledger: Ledger) -> Iterator[int]:
    with ledger.transaction() as txn:
        yield txn.id


def abandoned(ledger: Ledger) -> int:
    """Return the txn of a generator that is garbage by now, though it refers to itself."""
    generator = rows(ledger)
    cycle: list[object] = [generator]
    cycle.append(cycle)
    return next(generator)


@pytest.mark.parametrize("function", ["Tail._take", "Tail.expect"])
def test_abandoned(memory: InMemoryLedger, log: LossyLog, function: str) -> None:
    """Neither who hears the answers nor who asks just then waits for it: it is aborted soon."""
    with collecting_in(function) as collection, ThreadPoolExecutor(1) as other:
        ledger = memory.connect(settings=BUSY)
        ledger.begin().commit()
        begun = log.topics[Topic.EVENTS].end()
        txn = abandoned(ledger)
        collection.is_due = True
        other.submit(lambda: ledger.begin().commit()).result(PATIENCE_S)
        # A busy machine may let a command be sent, and answered, twice.
        for events in range(begun + 4, begun + 20):
            log.wait_for(Topic.EVENTS, events)
            row = memory.reads.txn(txn)
            if row is not None and row.status != "open":
                break

    assert row is not None
    assert (row.status, row.reason) == ("aborted", "GeneratorExit")
