"""Tables with one row for each key: what statements may leave, and which of them conflict."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.errors import ConflictError, DuplicateKeyError
from ledger.transaction.transaction import Transaction

ROWS: Final = 200
GRAINS: Final = ("marks", "rewrite")
UPSERT: Final[dict[str, Any]] = {"when_matched_update": True, "when_not_matched_insert": True}
ON: Final = "target.id = source.id"

Statement = Callable[[Transaction], Any]


def row(number: int | None) -> dict[str, Any]:
    return {"id": number, "n": 0}


@pytest.fixture(params=GRAINS)
def table(ledger: Ledger, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    grain: str = request.param
    keys = {"lakeledger.rows": grain, "lakeledger.key": "id", "lakeledger.unique": "true"}
    rows = [row(number) for number in range(ROWS)]
    ledger.create_table(f"t.{grain}", rows, location=str(tmp_path / grain), properties=keys)
    return f"t.{grain}"


def insert_twice(ledger: Ledger, table: str) -> None:
    with ledger.transaction() as txn:
        txn.insert(table, [row(900)])
        txn.insert(table, [row(900)])


REFUSED: Final[dict[str, Callable[[Ledger, str], Any]]] = {
    "append of a known key": lambda ledger, table: ledger.append(table, [row(7)]),
    "append of a key twice": lambda ledger, table: ledger.append(table, [row(900), row(900)]),
    "insert of a key of the txn": insert_twice,
    "update to a known key": lambda ledger, table: ledger.update(table, {"id": 8}, "id = 7"),
    "update of many to one": lambda ledger, table: ledger.update(table, {"id": 900}, "id < 150"),
    "overwrite of a part": lambda ledger, table: ledger.overwrite(table, [row(3)] * 2, "id = 3"),
    "merge that only inserts": lambda ledger, table: ledger.merge(
        table, [row(7)], "target.id = source.id + 1000", when_not_matched_insert=True
    ),
}


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED)
def test_a_key_is_refused_the_second_time(
    ledger: Ledger, table: str, statement: Callable[[Ledger, str], Any]
) -> None:
    with pytest.raises(DuplicateKeyError):
        statement(ledger, table)
    assert ledger.scan(table).count() == ROWS


def test_what_leaves_one_row_for_each_key_passes(ledger: Ledger, table: str) -> None:
    ledger.append(table, [row(ROWS), row(None), row(None)])
    ledger.update(table, {"n": 5}, "id = 7")
    ledger.update(table, {"id": -7}, "id = 7")
    ledger.append(table, [row(7)])
    ledger.update(table, {"id": "id + 1"}, "id >= 0")
    ledger.merge(table, [row(8), row(5_000)], ON, **UPSERT)
    ledger.delete(table, "id = 8")
    ledger.append(table, [row(8)])

    ids = ledger.scan(table, "id IS NOT NULL").to_arrow()["id"].to_pylist()
    assert sorted(ids) == [-7, *range(1, ROWS + 2), 5_000]
    assert ledger.scan(table).count() == len(ids) + 2


MEETING: Final[dict[str, Statement]] = {
    "insert": lambda txn: txn.insert("t.marks", [row(900)]),
    "merge": lambda txn: txn.merge("t.marks", [row(900)], ON, **UPSERT),
    "update": lambda txn: txn.update("t.marks", {"id": 900}, "id = 1"),
}
OTHERS: Final[dict[str, Statement]] = {
    "insert": lambda txn: txn.insert("t.marks", [row(901)]),
    "merge": lambda txn: txn.merge("t.marks", [row(901), row(2)], ON, **UPSERT),
    "update": lambda txn: txn.update("t.marks", {"id": 901}, "id = 3"),
    "delete": lambda txn: txn.delete("t.marks", "id = 4"),
}


@pytest.mark.parametrize("table", ["marks"], indirect=True)
@pytest.mark.parametrize("second", MEETING.values(), ids=MEETING)
@pytest.mark.parametrize("first", MEETING.values(), ids=MEETING)
def test_two_txns_that_make_one_key_conflict(
    ledger: Ledger, table: str, first: Statement, second: Statement
) -> None:
    one, two = ledger.begin(), ledger.begin()
    first(one)
    second(two)
    one.commit()
    with pytest.raises(ConflictError):
        two.commit()
    assert ledger.scan(table, "id = 900").count() == 1


@pytest.mark.parametrize("table", ["marks"], indirect=True)
@pytest.mark.parametrize("second", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("first", MEETING.values(), ids=MEETING)
def test_two_txns_that_make_different_keys_commit(
    ledger: Ledger, table: str, first: Statement, second: Statement
) -> None:
    one, two = ledger.begin(), ledger.begin()
    first(one)
    second(two)
    one.commit()
    two.commit()
    ids = ledger.scan(table).to_arrow()["id"].to_pylist()
    assert len(ids) == len(set(ids))


def test_a_unique_table_needs_a_key(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"lakeledger\.key"):
        ledger.create_table(
            "t.a", [row(1)], location=str(tmp_path), properties={"lakeledger.unique": "true"}
        )
    with pytest.raises(ValueError, match="must name its columns, got x"):
        ledger.create_table(
            "t.a", [row(1)], location=str(tmp_path), properties={"lakeledger.key": "x"}
        )
