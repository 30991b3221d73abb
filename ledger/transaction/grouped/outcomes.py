"""The outcomes of appends of a writer, and the failures of which no call knows yet."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from ledger.errors import OutcomeUnknownError
from ledger.reads.amounts import amount
from ledger.session.receipt import Receipt


class WaitingAppend(Future[Receipt]):
    """The outcome of one append of a writer: the receipt of its commit.

    `result` waits for it, and raises the error of an append that was not committed. After
    OutcomeUnknownError ask `Ledger.outcome` before you append the rows again. Appends of one commit
    have the same receipt, which counts the rows of all of them.

    Attributes:
        is_asked: whether a call has the outcome, or waits for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.set_running_or_notify_cancel()  # An accepted append cannot be cancelled.
        self.is_asked = False

    def result(self, timeout: float | None = None) -> Receipt:
        """Return the receipt; raises the error of the append, or TimeoutError."""
        self.exception(timeout)
        return super().result()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the error of the append, None if it is committed; raises TimeoutError."""
        self.is_asked = True
        try:
            return super().exception(timeout)
        except BaseException:
            self.is_asked = False
            raise


class FailedAppends:
    """The appends of a writer that were not committed; threads may share it."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._outcomes: list[WaitingAppend] = []

    def note(self, outcomes: Sequence[WaitingAppend]) -> None:
        """Keep outcomes that are about to be errors, until a call gets them."""
        with self._turn:
            self._outcomes = [*filter(is_unasked, self._outcomes), *outcomes]

    def raise_first(self, table: str) -> None:
        """Raise the first error of which no call knows; its notes count the appends of each."""
        with self._turn:
            failed, self._outcomes = list(filter(is_unasked, self._outcomes)), []
        counts = Counter(outcome.exception() for outcome in failed)
        problems = [problem for problem in counts if problem is not None]
        for problem in problems:
            state = "may be" if isinstance(problem, OutcomeUnknownError) else "are not"
            count = amount(counts[problem], "append")
            problems[0].add_note(f"{count} to table {table} {state} committed: {problem}")
        if problems:
            raise problems[0]


def is_unasked(outcome: WaitingAppend) -> bool:
    """Return whether no call has got the outcome of an append."""
    return not outcome.is_asked
