"""Paths in several spellings, as callers of the SDK may give them."""

import pytest

from ledger.client import Ledger
from ledger.errors import ConcurrentDeleteDeleteException
from ledger.log.wire.file_list import AddFile, RemoveFile

TABLE = "t"
FOLDER = "file:///lake/t"
LIVE = ["x/a", "y=1%20/b", "y=1 /b", "file:/other/c"]


@pytest.fixture(autouse=True)
def table(ledger: Ledger) -> None:
    ledger.create_table(TABLE, [("id", "int")], location=FOLDER)
    ledger.append(TABLE, LIVE)


@pytest.mark.parametrize(
    ("given", "removed"),
    [
        ("x//a", "x/a"),
        ("./x/./a", "x/a"),
        ("/lake/t/x/a", "x/a"),
        ("file:/lake/t//x/a", "x/a"),
        ("./y=1%20/b", "y=1%20/b"),
        ("y=1 //b", "y=1 /b"),
        ("file:///other/c", "file:/other/c"),
        ("/other/c", "file:/other/c"),
    ],
)
def test_removed_as_it_was_read(ledger: Ledger, given: str, removed: str) -> None:
    with ledger.transaction() as txn:
        txn.read(TABLE)
        txn.remove_files(TABLE, [given])

    assert sorted(ledger.read(TABLE).paths) == sorted(set(LIVE) - {removed})


@pytest.mark.parametrize(("one", "other"), [("x/a", "./x//a"), ("y=1%20/b", "y=1 /b")])
def test_two_removals_of_one_file_conflict(ledger: Ledger, one: str, other: str) -> None:
    first, second = ledger.begin(), ledger.begin()
    first.remove_files(TABLE, [RemoveFile(one)])
    second.remove_files(TABLE, [RemoveFile(other)])
    second.add_files(TABLE, [AddFile("rewritten")])
    first.commit()

    with pytest.raises(ConcurrentDeleteDeleteException):
        second.commit()
