"""What belongs to the process that made it does not travel."""

import pickle

import pytest

from ledger.client import Ledger


def test_neither_ledger_nor_txn_travels(ledger: Ledger) -> None:
    """Who hands them to a worker process is told what to do there."""
    for each in (ledger, ledger.begin()):
        with pytest.raises(TypeError, match="cannot be sent to another process") as raised:
            pickle.dumps(each)
        assert "call Ledger.connect there" in str(raised.value)
