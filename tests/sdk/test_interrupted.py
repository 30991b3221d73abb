"""Ctrl-C at any call that a session makes: what threads share is left as others need it."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.session import session
from ledger.session.receipt import Receipt
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.sdk.conftest import IMPATIENT

PATIENCE_S = 10.0


@contextmanager
def interrupted_at(number: int) -> Iterator[list[str]]:
    """Interrupt this thread at a call of those that a session makes; tell all up to there.

    Python heeds a signal where a function begins, so that is where the call is interrupted.
    """
    called: list[str] = []

    def trace(frame: FrameType, _event: str, _about: Any) -> None:
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename == session.__file__:
            called.append(frame.f_code.co_qualname)
            if len(called) == number:
                raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(KeyboardInterrupt):
            yield called
    finally:
        sys.settrace(before)


@contextmanager
def interrupted_in(function: str) -> Iterator[None]:
    """Interrupt this thread where a function of this name begins."""

    def trace(frame: FrameType, _event: str, _about: Any) -> None:
        if frame.f_code.co_qualname == function:
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        sys.settrace(before)


def goes_on(ledger: Ledger) -> bool:
    """Tell whether another thread soon gets a txn and its commit."""
    thread = threading.Thread(target=lambda: ledger.begin().commit(), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return not thread.is_alive()


def stuck_after(ledger: Ledger) -> str:
    """Return the first call at which Ctrl-C would keep others of a ledger waiting, "" = none."""
    number = 1
    while True:
        with interrupted_at(number) as called:
            ledger.begin().commit()
        if len(called) < number:
            return ""
        if not goes_on(ledger):
            return called[-1]
        number += 1


def test_whatever_ctrl_c_interrupts_of_a_txn_other_threads_go_on(memory: InMemoryLedger) -> None:
    ledger = memory.connect(settings=IMPATIENT)
    ledger.begin().commit()

    assert stuck_after(ledger) == ""


def commit_interrupted(txn: Transaction) -> None:
    """Commit a txn; Ctrl-C comes when the receipt is there, and is let pass."""
    with interrupted_in("Work.note_end"):
        txn.commit()


def test_a_commit_interrupted_at_its_end_is_known_on_demand(ledger: Ledger) -> None:
    txn = ledger.begin()
    commit_interrupted(txn)

    assert txn.commit().repeated
    assert txn.status == "committed"


def test_run_goes_on_with_its_receipt(ledger: Ledger) -> None:
    receipts: list[Receipt] = []

    ledger.run(commit_interrupted, on_commit=receipts.append)

    assert [receipt.repeated for receipt in receipts] == [False]


def test_a_close_interrupted_early_lets_its_session_expire(memory: InMemoryLedger) -> None:
    before = set(threading.enumerate())
    ledger = memory.connect(settings=ClientSettings(beat_s=0.01))
    ledger.begin()
    (pulse,) = (
        each for each in set(threading.enumerate()) - before if each.name == "lakeledger-pulse"
    )

    with interrupted_in("ClientSessions.close"):
        ledger.close()
    pulse.join(PATIENCE_S)

    assert not pulse.is_alive()
