"""Work that is done again when an earlier commit wins: in a new txn, from a new read.

Only what can come out differently is done again: a lost conflict, or a plan that grew too old. A
txn whose applications made progress elsewhere is not, for its work may be done; nor is one whose
commit was not answered: that is asked for again until it is known. Work that raises once it has
asked for the commit itself is not done again either.
"""

import random
import time
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple, TypeVar

from ledger.errors import LedgerError, OutcomeUnknownError
from ledger.sdk.receipt import Receipt
from ledger.sdk.transaction import Transaction

Result = TypeVar("Result")


class Pace(NamedTuple):
    """How often work is tried and how long: no attempt begins after `deadline_s`.

    Before attempt n + 1 passes a random time, up to `first_pause_s` doubled n - 1 times and at most
    `longest_pause_s`, so that those who lost together do not come again together.
    """

    attempts: int = 10
    deadline_s: float = 30.0
    first_pause_s: float = 0.01
    longest_pause_s: float = 1.0

    def pause_s(self, failures: int, share: float) -> float:
        """Return how long to wait after so many failures; `share` is drawn from 0 to 1."""
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
        raise ValueError(f"{pace.attempts} attempts do no work: say 1, to do it once, or more")
    if not pace.deadline_s >= 0:
        raise ValueError(f"a deadline of {pace.deadline_s} s is none: say a number, 0 to try once")
    ends_s = monotonic() + pace.deadline_s
    notes: list[str] = []
    while True:
        txn = begin()
        try:
            result = attempt(txn, work, ends_s)
        except LedgerError as error:
            notes.append(f"attempt {len(notes) + 1}: {error}")
            pause_s = pace.pause_s(len(notes), draw())
            is_last = len(notes) >= pace.attempts or monotonic() + pause_s >= ends_s
            # Work that asked for the commit itself and raised then may be done already.
            is_asked_for = txn.status in {"committed", "unknown"}
            if not error.retry_anew or is_asked_for or is_last:
                note_all(error, notes)
                raise
            pause(pause_s)
        else:
            if on_commit is not None and txn.receipt is not None:
                on_commit(txn.receipt)
            return result


def attempt(txn: Transaction, work: Callable[[Transaction], Result], ends_s: float) -> Result:
    """Return what work returned in a txn that it, or else this, has ended."""
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
    """Tell whether to ask again may tell more, where `cause` kept the answer away."""
    return cause is None or (isinstance(cause, LedgerError) and cause.retry_unchanged)


def note_all(error: LedgerError, notes: list[str]) -> None:
    """Note the attempts before the last one in the error that ends them."""
    for note in notes if len(notes) > 1 else ():
        error.add_note(note)
