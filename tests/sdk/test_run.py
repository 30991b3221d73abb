"""Work that is done again when an earlier commit wins."""

from collections.abc import Callable
from contextlib import suppress
from math import nan
from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.events.events import TxnOpened
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.session.receipt import Receipt
from ledger.testing import InMemoryLedger
from ledger.transaction.retry import Pace, run
from ledger.transaction.transaction import Transaction
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.test_retries import HASTY
from tests.sdk.told import bodies

ALWAYS = 10**9


@pytest.fixture
def table(ledger: Ledger) -> int:
    return create_flights(ledger).table


class Contended:
    """Rewrites the first day from what it reads; another session is faster `times` times.

    Attributes:
        attempts: the txns it was called with.
    """

    def __init__(self, rival: Ledger, times: int, error: Exception | None = None) -> None:
        self.attempts: list[Transaction] = []
        self._rival = rival
        self._times = times
        self._error = error

    def __call__(self, txn: Transaction) -> int:
        """Return how many files there were."""
        self.attempts.append(txn)
        found = txn.read(TABLE, "day = 1")
        txn.remove_files(TABLE, found)
        txn.add_files(TABLE, [of_day(1, f"merged{len(self.attempts)}")])
        if len(self.attempts) <= self._times:
            self._rival.append(TABLE, [of_day(1, f"rival{len(self.attempts)}")])
        if self._error is not None:
            raise self._error
        return len(found)


def test_done_again(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """Work that loses is done again from a new read, until it commits; its last result counts."""
    work = Contended(memory.connect(), times=2)
    receipts: list[Receipt] = []

    read = ledger.run(work, level="serializable", on_commit=receipts.append)

    assert (read, [txn.status for txn in work.attempts]) == (3, ["aborted", "aborted", "committed"])
    assert ledger.read(table).paths == ["day2", "merged3"]
    assert [work.attempts[-1].receipt] == receipts


def test_tables_that_are_read_once(ledger: Ledger, memory: InMemoryLedger, log: LossyLog) -> None:
    create_flights(ledger)
    tables: Any = iter([TABLE])

    ledger.run(Contended(memory.connect(), times=1), level="serializable", tables=tables)

    assert [len(body.ids) for body in bodies(log, TxnOpened)] == [1, 1]


def test_given_up(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """After the last attempt its conflict is raised, with a note for each attempt."""
    work = Contended(memory.connect(), times=ALWAYS)

    with pytest.raises(errors.ConcurrentAppendException) as raised:
        ledger.run(work, attempts=3, level="serializable")

    assert table == raised.value.evidence.table
    assert len(work.attempts) == 3
    assert [note.partition(":")[0] for note in raised.value.__notes__] == [
        "attempt 1",
        "attempt 2",
        "attempt 3",
    ]
    assert str(raised.value).endswith(
        "gave up after 3 attempts: give a larger number of attempts to try more often"
    )


def test_no_attempt_after_the_deadline(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """When the time is up, no further attempt begins."""
    assert table
    work = Contended(memory.connect(), times=ALWAYS)

    with pytest.raises(errors.ConcurrentAppendException) as raised:
        ledger.run(work, deadline_s=0.0, level="serializable")

    assert len(work.attempts) == 1
    assert not hasattr(raised.value, "__notes__")
    assert "after 1 attempt, because none begins after deadline_s=0: give a" in str(raised.value)


@pytest.mark.parametrize(
    ("attempts", "deadline_s", "said"),
    [
        (0, 30.0, "attempts must be 1 or more, got 0"),
        (-1, 30.0, "attempts must be 1 or more, got -1"),
        (nan, 30.0, "attempts must be 1 or more, got nan"),
        (1, -1.0, "deadline_s must be .*, got -1.0"),
        (1, nan, "deadline_s must be .*, got nan"),
    ],
)
def test_no_attempts(ledger: Ledger, attempts: Any, deadline_s: float, said: str) -> None:
    """Work that is not to be tried at all is refused before a txn is opened for it."""
    before = ledger.token

    with pytest.raises(ValueError, match=said):
        ledger.run(lambda txn: txn.id, attempts, deadline_s)

    assert ledger.token == before


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_pauses(ledger: Ledger, memory: InMemoryLedger, table: int, share: float) -> None:
    """Between attempts passes a random share of a time that doubles up to its bound."""
    assert table
    pauses: list[float] = []
    pace = Pace(attempts=5, first_pause_s=0.01, longest_pause_s=0.03)

    with pytest.raises(errors.ConcurrentAppendException):
        run(
            lambda: ledger.begin(level="serializable"),
            Contended(memory.connect(), times=ALWAYS),
            pace,
            pause=pauses.append,
            draw=lambda: share,
        )

    assert pauses == [share * each for each in (0.01, 0.02, 0.03, 0.03)]


def test_however_often_work_was_tried_the_next_pause_is_a_number() -> None:
    assert Pace().pause_s(10_000, 1.0) == Pace().longest_pause_s


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no rows"),
        errors.ConcurrentTransactionException("done", reason="ConcurrentTransaction"),
        errors.TxnNotOpenError("gone", reason="TxnNotOpen"),
        errors.OutcomeUnknownError("silence", session=1, n=1),
    ],
)
def test_what_would_not_come_out_differently_is_raised_at_once(
    ledger: Ledger, memory: InMemoryLedger, table: int, error: Exception
) -> None:
    assert table
    work = Contended(memory.connect(), times=0, error=error)

    with pytest.raises(type(error)) as raised:
        ledger.run(work)

    assert error is raised.value
    assert [txn.status for txn in work.attempts] == ["aborted"]


@pytest.mark.parametrize(
    "error",
    [
        errors.SnapshotTooOldError("old", reason="SnapshotTooOld"),
        errors.MetadataChangedException("changed", reason="MetadataChanged"),
    ],
)
def test_lost_within_the_work(
    ledger: Ledger, memory: InMemoryLedger, table: int, error: Exception
) -> None:
    """What the work itself loses by is tried again too."""
    assert table
    work = Contended(memory.connect(), times=0, error=error)

    with pytest.raises(type(error)):
        ledger.run(work, attempts=2)

    assert [txn.status for txn in work.attempts] == ["aborted", "aborted"]


@pytest.mark.parametrize(
    ("end", "status", "receipts"),
    [(Transaction.commit, "committed", 1), (Transaction.abort, "aborted", 0)],
)
def test_work_may_commit_or_abort_its_txn_itself(
    ledger: Ledger, end: Callable[[Transaction], Receipt], status: str, receipts: int
) -> None:
    seen: list[Receipt] = []

    ended = ledger.run(lambda txn: (end(txn), txn)[1], on_commit=seen.append)

    assert (status, receipts) == (ended.status, len(seen))


class Afterwards:
    """Adds a file, commits, and raises what it would be done again for.

    Attributes:
        attempts: the txns it was called with.
    """

    def __init__(self) -> None:
        self.attempts: list[Transaction] = []

    def __call__(self, txn: Transaction) -> None:
        """Raise whatever became of the commit."""
        self.attempts.append(txn)
        txn.add_files(TABLE, [of_day(1, f"once{len(self.attempts)}")])
        with suppress(errors.OutcomeUnknownError):
            txn.commit()
        raise errors.SnapshotTooOldError("old", reason="SnapshotTooOld")


def test_work_that_committed_its_txn_is_not_done_again(ledger: Ledger, table: int) -> None:
    work = Afterwards()

    with pytest.raises(errors.SnapshotTooOldError):
        ledger.run(work)

    assert [txn.status for txn in work.attempts] == ["committed"]
    assert ledger.read(table).paths == ["day1", "day2", "once1"]


def test_lost_after_its_unanswered_commit(memory: InMemoryLedger, log: LossyLog) -> None:
    """Nor is it where the commit that it asked for was not answered."""
    view = LossyLog(log)
    cut_off = memory.connect(settings=HASTY, log=view)
    create_flights(cut_off)
    work = Afterwards()
    txn = cut_off.begin()
    view.away[Topic.EVENTS] = ALWAYS

    with pytest.raises(errors.SnapshotTooOldError):
        run(lambda: txn, work, Pace())

    view.heal()
    assert work.attempts == [txn]
    assert txn.commit().repeated


class CutOff:
    """Work whose session sees no answer from the first time it is done until its commit fails."""

    def __init__(self, view: LossyLog) -> None:
        self.done = 0
        self._view = view

    def __call__(self, txn: Transaction) -> None:
        self.done += 1
        txn.add_files(TABLE, [of_day(1, "once")])
        self._view.away[Topic.EVENTS] = READS_AWAY


# A read that finds the broker away is followed by a pause of 0.2 s: three outlast one HASTY call.
READS_AWAY = 4


def test_an_unanswered_commit_is_asked_for_again(memory: InMemoryLedger, log: LossyLog) -> None:
    view = LossyLog(log)
    cut_off = memory.connect(settings=HASTY, log=view)
    create_flights(cut_off)
    work, receipts = CutOff(view), list[Receipt]()

    cut_off.run(work, on_commit=receipts.append)

    assert (work.done, [receipt.repeated for receipt in receipts]) == (1, [True])
    assert cut_off.read(TABLE).paths == ["day1", "day2", "once"]


def test_without_an_answer_the_outcome_is_unknown(memory: InMemoryLedger, log: LossyLog) -> None:
    view = LossyLog(log)
    cut_off = memory.connect(settings=HASTY, log=view)
    create_flights(cut_off)
    work = CutOff(view)

    with pytest.raises(errors.OutcomeUnknownError):
        cut_off.run(work, deadline_s=0.0)

    view.heal()
    assert work.done == 1
