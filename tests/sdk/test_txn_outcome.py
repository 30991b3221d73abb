"""A commit that was not answered, and whose txn has ended since: what became of it is found out."""

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.events import TxnCommitted
from ledger.errors import OutcomeUnknownError
from ledger.log.port import Topic
from ledger.testing import FixedClock, InMemoryLedger
from ledger.transaction import Transaction
from tests.sdk.conftest import ALERT
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.lossy import LossyLog, bodies
from tests.sdk.test_retries import HASTY

LEASE_S = 10


def unanswered(txn: Transaction, view: LossyLog) -> None:
    """Commit a txn without seeing the answer."""
    view.away[Topic.EVENTS] = 10**9
    with pytest.raises(OutcomeUnknownError):
        txn.commit()
    view.heal()


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


def test_committed_before_its_session_ended(log: LossyLog) -> None:
    """A commit that was executed is found, though the session that asked for it is over."""
    with InMemoryLedger(log=log, clock=FixedClock(), settings=ALERT) as still:
        still.advance(LEASE_S)
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
    assert {each.table: each.version for each in committed.parts} == receipt.versions == {table: 2}
