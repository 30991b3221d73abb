"""What is no file, or no list of files, is named where it is given."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile, RemoveFile
from ledger.transaction.transaction import Transaction
from tests.sdk.flights import TABLE, create_flights, of_day

ODD: Any = {
    "number": (b"3",),
    "statistics": {},
    "path": 5,
    "lone number": 3,
    "lone text": "3",
    "answer": "no",
    "pair": ("a", ("3",)),
    "named": {"day": "3"},
    "unordered": {"3"},
    "lone file": AddFile("a", ("3",)),
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda txn: txn.add_files(TABLE, [AddFile("a", ODD["number"])]),
            "file 'a': partition column day must be a whole number, got b'3'",
        ),
        (
            lambda txn: txn.remove_files(TABLE, [RemoveFile("a", ODD["number"])]),
            "file 'a': partition column day must be a whole number, got b'3'",
        ),
        (
            lambda txn: txn.add_files(TABLE, [AddFile("a", ("3",), stats=ODD["statistics"])]),
            "file 'a': .* must be texts.* got {}",
        ),
        (
            lambda txn: txn.add_files(TABLE, [AddFile(ODD["path"], ("3",))]),
            "file 5: .* must be texts.* got 5",
        ),
        (
            lambda txn: txn.add_files(TABLE, [AddFile("a", ODD["lone number"])]),
            r"file 'a': partition .* such as \('3',\), got 3",
        ),
        (
            lambda txn: txn.remove_files(TABLE, [RemoveFile("a", ODD["lone text"])]),
            r"file 'a': partition .* such as \('3',\), got '3'",
        ),
        (
            lambda txn: txn.add_files(TABLE, [AddFile("a", ODD["named"])]),
            "file 'a' must be a list of values in the order of.*got {'day': '3'}",
        ),
        (
            lambda txn: txn.remove_files(TABLE, [RemoveFile("a", ODD["unordered"])]),
            "file 'a' must be a list of values.*got {'3'}",
        ),
        (
            lambda txn: txn.add_files(TABLE, [AddFile("a", ("3",), data_change=ODD["answer"])]),
            "file 'a': data_change must be True or False, got 'no'",
        ),
        (
            lambda txn: txn.remove_files(
                TABLE, [RemoveFile("a", ("3",), data_change=ODD["answer"])]
            ),
            "file 'a': data_change must be True or False, got 'no'",
        ),
        (
            lambda txn: txn.add_files(TABLE, [ODD["pair"]]),
            r"a file to add must be an AddFile or a path, got \('a', \('3',\)\)",
        ),
        (
            lambda txn: txn.add_files(TABLE, ODD["lone text"]),
            r"files must be a list, such as \['3'\]",
        ),
        (
            lambda txn: txn.add_files(TABLE, ODD["lone file"]),
            r"files must be a list, such as \[AddFile\(path='a'",
        ),
        (
            lambda txn: txn.remove_files(TABLE, [ODD["pair"]]),
            r"a file to remove must be .* or a path, got \('a', \('3',\)\)",
        ),
        (lambda txn: txn.remove_files(TABLE, "day1"), r"files must be a list, such as \['day1'\]"),
        (
            lambda txn: txn.rewrite_files(TABLE, "day1", [of_day(1, "big")]),
            r"files must be a list, such as \['day1'\]",
        ),
        (lambda txn: txn.add_files(TABLE, 5), "files must be a list, got 5"),
        (lambda txn: txn.read(TABLE, where=5), "a condition must be a text of Spark SQL"),
    ],
    ids=[
        *("value of a file added", "value of a file removed", "statistics", "path"),
        *("lone value of a file added", "lone value of a file removed"),
        *("named values", "values without order"),
        *("data change of a file added", "data change of a file removed"),
        *("pair to add", "text in place of a list", "file in place of a list"),
        "pair to remove",
        *("text in place of files removed", "text in place of files rewritten"),
        *("number in place of files", "number in place of a condition"),
    ],
)
def test_odd_files(ledger: Ledger, change: Callable[[Transaction], object], said: str) -> None:
    """What is no text where one belongs, or no tuple, or no file, is named with its file."""
    create_flights(ledger)
    with ledger.transaction() as txn, pytest.raises(TypeError, match=said):
        change(txn)
