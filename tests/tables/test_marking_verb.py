"""Rows that a txn marks by their numbers are gone, and only the same rows conflict."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyroaring import BitMap

from ledger.client import Ledger
from ledger.errors import ConcurrentDeleteDeleteException
from ledger.testing import InMemoryLedger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with InMemoryLedger() as memory:
        made = memory.connect(warehouse=tmp_path)
        made.create_table(
            "db.a",
            [{"id": number} for number in range(10)],
            properties={"lakeledger.rows": "marks"},
        )
        yield made


def ids(ledger: Ledger) -> list[int]:
    return [row["id"] for row in ledger.scan("db.a").to_arrow().to_pylist()]


def test_two_txns_that_mark_other_rows_of_one_file_both_win(ledger: Ledger) -> None:
    (file,) = ledger.read("db.a").files
    first, second = ledger.begin(), ledger.begin()
    first.mark_rows("db.a", [(file, BitMap([1, 2]))], operation="UPDATE")
    second.mark_rows("db.a", [(file, BitMap([7]))])
    first.commit()
    second.commit()
    versions = ledger.reads().versions(ledger.table("db.a").table, 2)
    assert ids(ledger) == [0, 3, 4, 5, 6, 8, 9]
    assert [row.operation for row in versions] == ["DELETE", "UPDATE"]


def test_the_second_txn_that_marks_a_row_loses(ledger: Ledger) -> None:
    (file,) = ledger.read("db.a").files
    first, second = ledger.begin(), ledger.begin()
    first.mark_rows("db.a", [(file, BitMap([1, 2]))])
    second.mark_rows("db.a", [(file, BitMap([2]))])
    first.commit()
    with pytest.raises(ConcurrentDeleteDeleteException):
        second.commit()
    assert ids(ledger) == [0, 3, 4, 5, 6, 7, 8, 9]


def test_marks_of_an_earlier_read_lose_to_what_came_since(ledger: Ledger) -> None:
    found = ledger.read("db.a")
    with ledger.transaction() as txn:
        txn.mark_rows("db.a", [(found.files[0], BitMap([1]))])
    late = ledger.begin()
    late.mark_rows("db.a", [(found.files[0], BitMap([1]))], read_at=found.position)
    with pytest.raises(ConcurrentDeleteDeleteException):
        late.commit()


def test_a_file_is_marked_once_and_with_rows(ledger: Ledger) -> None:
    (file,) = ledger.read("db.a").files
    with ledger.transaction() as txn:
        for rows in ([(file, BitMap())], [(file, BitMap([1])), (file, BitMap([2]))]):
            with pytest.raises(ValueError, match="named once, with one row or more"):
                txn.mark_rows("db.a", rows)
        txn.abort()
