"""Errors of reads: whether the same call may be made again stands in the error."""

import pytest

from ledger.core.lists.valid_lists import ValidTxnList
from ledger.errors import LimitExceededError
from ledger.reads.errors import check_list_left
from ledger.reads.remote.http_form import error_form, error_from


def test_a_list_that_is_gone() -> None:
    txns = ValidTxnList(7, (), (), None)
    check_list_left(txns, 8, 40)

    with pytest.raises(LimitExceededError, match="position 40 is gone") as raised:
        check_list_left(txns, 9, 40)

    assert not raised.value.retry_unchanged


def test_what_a_server_says_of_a_second_attempt_is_what_its_client_says_too() -> None:
    form = error_form(LimitExceededError("10 rows at once", reason="LimitExceeded"))

    said = [error_from({**form, "retry_unchanged": each}) for each in (True, False)]

    assert [each is not None and each.retry_unchanged for each in said] == [True, False]
