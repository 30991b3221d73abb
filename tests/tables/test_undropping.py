"""UNDROP: a dropped table comes back with its last columns and rows, as a new table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.errors import (
    FilesUnknownError,
    TableExistsError,
    UnknownTableError,
    UnreadableTableError,
)

TABLE: Final = "shop.sales"
ROWS: Final = [{"id": 1, "item": "pen"}, {"id": 2, "item": None}]

Change = Callable[[Ledger], Any]


def rows_of(ledger: Ledger, name: str) -> list[dict[str, Any]]:
    return sorted(ledger.scan(name).to_arrow().to_pylist(), key=repr)


def without_item(definition: TableDefinition) -> TableDefinition:
    columns = [column for column in definition.columns if column.name != "item"]
    return definition._replace(columns=columns)


def thing(definition: TableDefinition) -> TableDefinition:
    columns = [
        column._replace(name="thing") if column.name == "item" else column
        for column in definition.columns
    ]
    return definition._replace(columns=columns)


CHANGES: Final[dict[str, Change]] = {
    "nothing": lambda _: None,
    "a rename": lambda ledger: ledger.alter_table(TABLE, thing),
    "a drop": lambda ledger: ledger.alter_table(TABLE, without_item),
    "an update": lambda ledger: ledger.update(TABLE, {"item": "'ink'"}, "id = 1"),
    "an empty table": lambda ledger: ledger.delete(TABLE),
    "a column that came again": lambda ledger: (
        ledger.alter_table(TABLE, without_item),
        ledger.append(TABLE, [{"id": 3, "item": "new"}], evolve=True),
    ),
}


@pytest.fixture
def lake(ledger: Ledger, tmp_path: Path) -> Ledger:
    ledger.create_table(TABLE, ROWS, location=str(tmp_path / "sales"))
    return ledger


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_last_rows_and_columns_come_back(lake: Ledger, change: Change) -> None:
    change(lake)
    before, definition = rows_of(lake, TABLE), lake.table(TABLE).definition
    former = lake.table(TABLE)
    lake.drop_table(TABLE)
    row = lake.undrop_table(TABLE)

    assert row.table != former.table
    assert rows_of(lake, TABLE) == before
    assert [each.name for each in row.definition.columns] == [
        each.name for each in definition.columns
    ]
    lake.append(TABLE, [{"id": 9}])
    assert len(rows_of(lake, TABLE)) == len(before) + 1


def test_a_vacuum_keeps_the_files_of_a_table_that_came_back(lake: Ledger) -> None:
    lake.drop_table(TABLE)
    row = lake.undrop_table(TABLE)
    lake.vacuum(row, older_than_h=0)

    assert len(rows_of(lake, TABLE)) == len(ROWS)


def test_a_table_comes_back_by_id_row_or_name(lake: Ledger) -> None:
    row = lake.table(TABLE)
    lake.drop_table(TABLE)
    lake.undrop_table(row.table, "a")
    lake.undrop_table(row, "b")
    lake.undrop_table("Shop.SALES", "c")

    assert [len(rows_of(lake, name)) for name in "abc"] == [2, 2, 2]


def test_the_table_that_was_dropped_last_comes_back(lake: Ledger, tmp_path: Path) -> None:
    lake.drop_table(TABLE)
    lake.create_table(TABLE, [{"x": 1}], location=str(tmp_path / "other"))
    lake.drop_table(TABLE)
    lake.undrop_table(TABLE)

    assert rows_of(lake, TABLE) == [{"x": 1}]


def test_what_cannot_come_back_is_refused_by_name(lake: Ledger, tmp_path: Path) -> None:
    with pytest.raises(UnknownTableError, match="was dropped"):
        lake.undrop_table(TABLE)
    row = lake.table(TABLE)
    lake.drop_table(TABLE)
    lake.create_table(TABLE, [("x", "int")], location=str(tmp_path / "other"))
    with pytest.raises(TableExistsError):
        lake.undrop_table(row)
    lake.create_table(
        "shop.folders", [("x", "int")], layout="directories", location=str(tmp_path / "f")
    )
    lake.drop_table("shop.folders")
    with pytest.raises(FilesUnknownError, match="layout directories"):
        lake.undrop_table("shop.folders")


def test_files_that_a_vacuum_deleted_are_told(lake: Ledger) -> None:
    row = lake.table(TABLE)
    lake.drop_table(TABLE)
    lake.vacuum(row, older_than_h=0)

    with pytest.raises(UnreadableTableError, match="deleted since"):
        lake.undrop_table(TABLE)
    with pytest.raises(UnknownTableError):
        lake.table(TABLE)


def test_a_published_table_comes_back_unpublished_with_a_warning(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.create_table(
        TABLE,
        ROWS,
        location=str(tmp_path / "sales"),
        properties={"lakeledger.publish": "delta", "owner": "ada"},
    )
    ledger.drop_table(TABLE)

    with pytest.warns(UserWarning, match="is not published any more"):
        row = ledger.undrop_table(TABLE)
    assert [each.key for each in row.definition.properties] == ["owner"]


def test_a_view_comes_back(lake: Ledger) -> None:
    lake.create_view("shop.ids", "SELECT id FROM shop.sales")
    lake.drop_table("shop.ids")
    lake.undrop_table("shop.ids")

    assert lake.sql("SELECT count(*) AS n FROM shop.ids").to_pylist() == [{"n": 2}]
