"""What belongs to the process that made it does not travel."""

import pickle

import pytest

from ledger.client import Ledger


def test_who_hands_them_to_a_worker_process_is_told_what_to_do_there(ledger: Ledger) -> None:
    for each in (ledger, ledger.begin()):
        with pytest.raises(TypeError, match="cannot be sent to another process") as raised:
            pickle.dumps(each)
        assert "call Ledger.connect there" in str(raised.value)
