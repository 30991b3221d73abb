"""A txn that has write ids, for tests of what becomes of it."""

from ledger.client import Ledger
from ledger.transaction.transaction import Transaction


def written(ledger: Ledger, *tables: str) -> Transaction:
    """Return an open txn that has a write id in these tables."""
    txn = ledger.begin()
    txn.write_ids(tables)
    return txn
