"""Repeats work in a new txn, from a new read, when an earlier commit wins.

Only a lost conflict, or a plan that grew too old, is repeated. A txn whose applications made
progress elsewhere is not: its work may be done. A commit without an answer is requested again until
its outcome is known. Work that called commit() itself and then raised is not repeated either.
"""

import random
import time
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple, TypeVar

from ledger.arrow.read_once import ReadOnce
from ledger.errors import LedgerError, OutcomeUnknownError
from ledger.reads.amounts import amount
from ledger.session.receipt import Receipt
from ledger.transaction.transaction import Transaction

Result = TypeVar("Result")


class Pace(NamedTuple):
    """The number of attempts, and their time: no attempt begins after `deadline_s`.

    A random pause comes before attempt n + 1: up to `first_pause_s` doubled n - 1 times, and at
    most `longest_pause_s`. So clients that lost together do not retry together.
    """

    attempts: int = 10
    deadline_s: float = 30.0
    first_pause_s: float = 0.01
    longest_pause_s: float = 1.0

    def pause_s(self, failures: int, share: float) -> float:
        """Return the pause after this many failures; `share` is drawn from 0 to 1."""
        return share * min(self.longest_pause_s, self.first_pause_s * 2.0 ** min(failures - 1, 64))


def run(
    begin: Callable[[], Transaction],
    work: Callable[[Transaction], Result],
    pace: Pace,
    *,
    on_commit: Callable[[Receipt], object] | None = None,
    pause: Callable[[float], object] = time.sleep,
    draw: Callable[[], float] = random.random,
) -> Result:
    """Return what `work` returned in the txn that committed, see `Ledger.run`."""
    if not pace.attempts >= 1:
        raise ValueError(f"attempts must be 1 or more, got {pace.attempts}")
    if not pace.deadline_s >= 0:
        raise ValueError(
            f"deadline_s must be 0 or more, got {pace.deadline_s}; 0 makes a single attempt"
        )
    ends_s = monotonic() + pace.deadline_s
    notes: list[str] = []
    once = ReadOnce(repeats=True)
    while True:
        txn = begin()._share(once)  # noqa: SLF001 - the txn of this attempt
        try:
            result = attempt(txn, work, ends_s)
        except LedgerError as error:
            notes.append(f"attempt {len(notes) + 1}: {error}")
            pause_s = pace.pause_s(len(notes), draw())
            is_last = len(notes) >= pace.attempts or monotonic() + pause_s >= ends_s
            # Work that called commit() itself and then raised may be done already.
            is_asked_for = txn.status in {"committed", "unknown"}
            if not error.retry_anew or is_asked_for or is_last:
                note_all(error, notes)
                if error.retry_anew and not is_asked_for:
                    error.args = (f"{error}. {given_up(pace, len(notes))}",)
                raise
            pause(pause_s)
        else:
            if on_commit is not None and txn.receipt is not None:
                on_commit(txn.receipt)
            return result


def attempt(txn: Transaction, work: Callable[[Transaction], Result], ends_s: float) -> Result:
    """Return the result of the work; commit the txn unless the work has ended it."""
    with txn:
        result = work(txn)
        while txn.status in {"open", "unknown"}:
            try:
                txn.commit()
            except OutcomeUnknownError as error:
                if monotonic() >= ends_s or not may_pass(error.__cause__):
                    raise
    return result


def may_pass(cause: BaseException | None) -> bool:
    """Return whether another request may get an answer, after `cause` kept one away."""
    return cause is None or (isinstance(cause, LedgerError) and cause.retry_unchanged)


def given_up(pace: Pace, made: int) -> str:
    """Return why no further attempt is made, and how to get more of them."""
    attempts = amount(made, "attempt")
    if made >= pace.attempts:
        return f"run gave up after {attempts}: give a larger number of attempts to try more often"
    return (
        f"run gave up after {attempts}, because none begins after deadline_s={pace.deadline_s:g}: "
        "give a larger deadline_s to try for longer"
    )


def note_all(error: LedgerError, notes: list[str]) -> None:
    """Add notes on the earlier attempts to the final error."""
    for note in notes if len(notes) > 1 else ():
        error.add_note(note)
