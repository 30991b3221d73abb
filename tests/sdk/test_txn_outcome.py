"""A commit that was not answered, and whose txn has ended since: what became of it is found out."""

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.commands import CommitTxn
from ledger.core.events.events import TxnCommitted
from ledger.errors import LedgerError, OutcomeUnknownError, ReaderBehindError, SettingsError
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.session.session import UNNUMBERED
from ledger.testing import FixedClock, InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.oracle.reads import StateReads
from tests.sdk.conftest import ALERT, IMPATIENT
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.test_retries import ALWAYS, HASTY
from tests.sdk.told import bodies

LEASE_S = 10


def unanswered(txn: Transaction, view: LossyLog) -> None:
    """Commit a txn without seeing the answer."""
    view.away[Topic.EVENTS] = 10**9
    with pytest.raises(OutcomeUnknownError):
        txn.commit()
    view.heal()


def interrupted(ledger: Ledger, log: LossyLog) -> Transaction:
    """Return a txn that adds a file, and whose commit Ctrl-C interrupted once it was sent."""
    create_flights(ledger)
    txn = ledger.begin()
    txn.add_files(TABLE, [of_day(3)])
    log.interrupted[Topic.COMMANDS] = 1
    with pytest.raises(KeyboardInterrupt):
        txn.commit()
    return txn


def test_lost_without_being_told(memory: InMemoryLedger, ledger: Ledger, log: LossyLog) -> None:
    """A txn that lost, and was not told, is told by what it lost when it asks again."""
    create_flights(ledger)
    view = LossyLog(log)
    txn = memory.connect(settings=HASTY, log=view).begin()
    txn.remove_files(TABLE, ["day1"])
    with ledger.transaction() as winner:
        winner.remove_files(TABLE, ["day1"])
    unanswered(txn, view)

    with pytest.raises(errors.ConcurrentDeleteDeleteException) as raised:
        txn.commit()

    assert (txn.id, txn.status) == (raised.value.subject, "aborted")
    assert "file day1" in raised.value.explain()


def test_ended_otherwise(memory: InMemoryLedger, ledger: Ledger, log: LossyLog) -> None:
    """A txn that somebody else aborted says so."""
    view = LossyLog(log)
    txn = memory.connect(settings=HASTY, log=view).begin()
    ledger.abort(txn.id, "in the way")
    unanswered(txn, view)

    with pytest.raises(errors.TxnNotOpenError, match="aborted"):
        txn.commit()


@pytest.fixture
def still(log: LossyLog) -> Iterator[InMemoryLedger]:
    """Return a ledger in memory whose time passes only when a test says so."""
    with InMemoryLedger(log=log, clock=FixedClock(), settings=ALERT) as memory:
        memory.advance(LEASE_S)
        yield memory


def test_committed_before_its_session_ended(still: InMemoryLedger, log: LossyLog) -> None:
    """A commit that was executed is found, though the session that asked for it is over."""
    view = LossyLog(log)
    cut_off = still.connect(settings=HASTY, log=view)
    table = create_flights(cut_off).table
    txn = cut_off.begin()
    txn.add_files(TABLE, [of_day(3)])
    unanswered(txn, view)
    still.advance(LEASE_S + 1)

    receipt = txn.commit()

    (committed,) = bodies(log, TxnCommitted)[1:]
    assert (txn.status, txn.id, True) == ("committed", receipt.txn, receipt.repeated)
    assert {part.table: part.version for part in committed.parts} == receipt.versions == {table: 2}


def test_interrupted(ledger: Ledger, log: LossyLog) -> None:
    """A commit that Ctrl-C interrupted may be executed: nothing is added to it any more."""
    txn = interrupted(ledger, log)

    assert txn.status == "unknown"
    with pytest.raises(ValueError, match=r"commit\(\) was already called"):
        txn.add_files(TABLE, [of_day(4)])
    assert (txn.commit().repeated, txn.status) == (True, "committed")


@pytest.mark.parametrize("commits", [True, False])
def test_interrupted_in_a_block(
    ledger: Ledger, memory: InMemoryLedger, log: LossyLog, *, commits: bool
) -> None:
    """A block whose commit is interrupted is left as it is: nobody aborts what may be committed."""
    txn = ledger.begin()
    log.interrupted[Topic.COMMANDS] = 1
    with pytest.raises(KeyboardInterrupt) as raised, txn:
        txn.commit() if commits else None

    assert (txn.status, hasattr(raised.value, "__notes__")) == ("unknown", False)
    assert txn.commit().repeated
    row = memory.reads.txn(txn.id)
    assert row is not None
    assert (row.status, txn.status) == ("committed", "committed")


def test_interrupted_before_its_session_ended(still: InMemoryLedger, log: LossyLog) -> None:
    """A commit that was interrupted is found though its session is over."""
    ledger = still.connect(settings=IMPATIENT)
    txn = interrupted(ledger, log)
    still.advance(LEASE_S + 1)

    assert (txn.commit().repeated, txn.status) == (True, "committed")


def test_error_after_its_session_ended(still: InMemoryLedger) -> None:
    """A block that raises after its session ended has nothing to add: its txn went with that."""
    ledger = still.connect(settings=IMPATIENT)
    txn = ledger.begin()
    still.advance(LEASE_S + 1)

    with pytest.raises(ValueError, match="no rows") as raised, txn:
        raise ValueError("no rows")

    row = still.reads.txn(txn.id)
    assert row is not None
    assert (row.status, txn.status) == ("aborted", "aborted")
    assert not hasattr(raised.value, "__notes__")


def test_abort_after_its_session_ended(still: InMemoryLedger) -> None:
    """A txn that is aborted after its session ended is over, though that is an error."""
    txn = still.connect(settings=IMPATIENT).begin()
    still.advance(LEASE_S + 1)

    with pytest.raises(errors.SessionExpiredError):
        txn.abort()

    assert txn.status == "aborted"


def test_abort_of_what_may_be_committed(still: InMemoryLedger, log: LossyLog) -> None:
    """A txn whose commit was not answered is not called aborted because its session ended."""
    txn = interrupted(still.connect(settings=IMPATIENT), log)
    still.advance(LEASE_S + 1)

    with pytest.raises(errors.TxnNotOpenError, match="it committed"):
        txn.abort()

    assert txn.status == "unknown"
    assert (txn.commit().repeated, txn.status) == (True, "committed")


def test_a_block_that_raises_though_its_txn_was_committed_says_so(ledger: Ledger) -> None:
    txn = ledger.begin()
    with pytest.raises(ValueError, match="no rows") as raised:
        commit_and_raise(txn)

    assert txn.status == "committed"
    assert ["it is committed" in note for note in raised.value.__notes__] == [True]


def commit_and_raise(txn: Transaction) -> None:
    """Commit a txn, behind its back, in a block that raises."""
    with txn:
        txn.ask(CommitTxn(*UNNUMBERED, txn.id, [], ""))
        raise ValueError("no rows")


def test_an_unknown_outcome_stays_so_once_closed(memory: InMemoryLedger, log: LossyLog) -> None:
    view = LossyLog(log)
    cut_off = memory.connect(settings=HASTY, log=view)
    txn = cut_off.begin()
    unanswered(txn, view)
    cut_off.close()

    with pytest.raises(OutcomeUnknownError, match="this ledger was closed"):
        txn.commit()

    assert txn.status == "unknown"


class FailingReads(StateReads):
    """Rows that cannot be read while `failure` is set."""

    failure: LedgerError | None = None

    def wait(self, position: int, timeout_ms: int) -> int:
        if self.failure is not None:
            raise self.failure
        return super().wait(position, timeout_ms)


class Forsaken(NamedTuple):
    """A client whose commit was executed, though it saw no answer and its session is over."""

    ledger: Ledger
    reads: FailingReads
    view: LossyLog
    still: InMemoryLedger

    def work(self, txn: Transaction) -> None:
        """Commit, and find no rows to learn from what became of it."""
        txn.add_files(TABLE, [of_day(3)])
        unanswered(txn, self.view)
        self.still.advance(LEASE_S + 1)
        self.reads.failure = SettingsError("there are no rows")


@pytest.fixture
def forsaken(still: InMemoryLedger, log: LossyLog) -> Iterator[Forsaken]:
    """Return a client that will be forsaken."""
    reads, view = FailingReads(log), LossyLog(log)
    with (
        closing(reads),
        Ledger(view, open_reads=lambda: reads, settings=HASTY, clock=still.clock) as ledger,
    ):
        create_flights(ledger)
        yield Forsaken(ledger, reads, view, still)


def test_rows_that_cannot_be_read(forsaken: Forsaken) -> None:
    txn = forsaken.ledger.begin()
    forsaken.work(txn)
    for failure in (SettingsError("there are no rows"), ReaderBehindError(1, 2, 3)):
        forsaken.reads.failure = failure
        with pytest.raises(OutcomeUnknownError, match="may or may not be committed") as raised:
            txn.commit()

        assert failure is raised.value.__cause__
        assert txn.status == "unknown"
    forsaken.reads.failure = None

    outcome = forsaken.ledger.outcome(raised.value.session, raised.value.n)
    assert (txn.commit().repeated, outcome.answer) == (True, "TxnCommitted")


def test_work_whose_rows_cannot_be_read(forsaken: Forsaken) -> None:
    with pytest.raises(OutcomeUnknownError, match="there are no rows"):
        forsaken.ledger.run(forsaken.work, deadline_s=ALWAYS)
