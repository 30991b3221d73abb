"""RESTORE: the columns and the rows of an earlier version, also after columns were changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.errors import ConflictError, ConstraintViolatedError, UnreadableTableError
from ledger.reads.row_counts import ChangedRows, rows_in
from tests.tables.reading import rows_of, stored

TABLE: Final = "shop.sales"
ROWS: Final = [{"id": 1, "item": "pen", "day": "mon"}, {"id": 2, "item": None, "day": "tue"}]

Change = Callable[[TableDefinition], TableDefinition]


def renamed(name: str, new: str) -> Change:
    """Return the change that gives one column another name."""
    return lambda definition: definition._replace(
        columns=[
            column._replace(name=new) if column.name == name else column
            for column in definition.columns
        ]
    )


def dropped(name: str) -> Change:
    """Return the change that leaves one column out."""
    return lambda definition: definition._replace(
        columns=[column for column in definition.columns if column.name != name]
    )


CHANGES: Final[dict[str, Callable[[Ledger], Any]]] = {
    "rows": lambda ledger: ledger.update(TABLE, {"item": "'ink'"}),
    "rename": lambda ledger: ledger.alter_table(TABLE, renamed("item", "thing")),
    "drop": lambda ledger: ledger.alter_table(TABLE, dropped("item")),
    "drop and add": lambda ledger: (
        ledger.alter_table(TABLE, dropped("item")),
        ledger.append(TABLE, [{"id": 3, "day": "mon", "item": "new"}], evolve=True),
    ),
    "widen": lambda ledger: ledger.append(
        TABLE, [{"id": 2**40, "item": "ink", "day": "wed"}], evolve=True
    ),
    "other partitions": lambda ledger: ledger.alter_table(TABLE, partition_columns=["item"]),
    "delete": lambda ledger: ledger.delete(TABLE),
    "overwrite": lambda ledger: ledger.overwrite(TABLE, [{"id": 9, "item": "x", "day": "sun"}]),
}
PROPERTIES: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    "published": {"lakeledger.publish": "delta"},
}


@pytest.fixture(params=list(PROPERTIES.values()), ids=list(PROPERTIES))
def lake(ledger: Ledger, tmp_path: Path, request: pytest.FixtureRequest) -> Ledger:
    """Return a ledger with a partitioned table of two rows, with names in files or without."""
    columns = [("id", "int"), ("item", "string"), ("day", "string")]
    ledger.create_table(
        TABLE,
        columns,
        partition_columns=["day"],
        location=tmp_path / "sales",
        properties=request.param,
    )
    ledger.append(TABLE, ROWS)
    return ledger


@pytest.mark.filterwarnings("ignore:.*(typeWidening|columnMapping|column mapping)")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_version_comes_back(lake: Ledger, change: Callable[[Ledger], Any]) -> None:
    before = lake.table(TABLE)
    change(lake)
    between = lake.table(TABLE)
    seen = rows_of(lake, TABLE)

    lake.restore(TABLE, version=before.version)

    assert rows_of(lake, TABLE) == ROWS
    now = lake.table(TABLE)
    assert [(column.name, column.type, column.id) for column in now.definition.columns] == [
        (column.name, column.type, column.id) for column in before.definition.columns
    ]
    assert list(now.definition.partition_columns) == ["day"]
    assert now.version == between.version + 1

    lake.restore(TABLE, version=between.version)
    assert rows_of(lake, TABLE) == seen


def test_a_file_with_an_older_name_is_written_anew(lake: Ledger) -> None:
    """It was removed after the rename: added again, its column would have no values."""
    lake.alter_table(TABLE, renamed("item", "thing"))
    version = lake.table(TABLE).version
    lake.overwrite(TABLE, [{"id": 9, "thing": "x", "day": "sun"}])

    lake.restore(TABLE, version=version)

    assert [row["thing"] for row in rows_of(lake, TABLE)] == ["pen", None]


def test_files_that_stayed_are_not_touched(lake: Ledger) -> None:
    version, files = lake.table(TABLE).version, set(lake.read(TABLE).paths)
    lake.append(TABLE, [{"id": 3, "item": "ink", "day": "mon"}])

    assert lake.restore(TABLE, version=version).rows == {}

    assert set(lake.read(TABLE).paths) == files


def test_a_lost_file_is_named(lake: Ledger) -> None:
    version, row = lake.table(TABLE).version, lake.table(TABLE)
    lake.delete(TABLE)
    lost = min(stored(row))
    (Path(row.location) / lost).unlink()

    with pytest.raises(UnreadableTableError, match=lost.rpartition("/")[2]):
        lake.restore(TABLE, version=version)


def test_a_constraint_of_today_holds(lake: Ledger) -> None:
    version = lake.table(TABLE).version
    lake.delete(TABLE, "item IS NULL")
    lake.alter_table(TABLE, properties={"delta.constraints.item": "item IS NOT NULL"})

    with pytest.raises(ConstraintViolatedError):
        lake.restore(TABLE, version=version)


def test_a_delete_meanwhile_wins(lake: Ledger) -> None:
    version = lake.table(TABLE).version
    lake.overwrite(TABLE, [{"id": 3, "item": "ink", "day": "mon"}])
    txn = lake.begin()
    txn.restore(TABLE, version=version)
    lake.delete(TABLE, "id = 3")

    with pytest.raises(ConflictError):
        txn.commit()


def test_a_place_must_be_named(lake: Ledger) -> None:
    with pytest.raises(ValueError, match="version, position or at"):
        lake.restore(TABLE)


STATEMENTS: Final[dict[str, tuple[Callable[[Ledger], Any], ChangedRows]]] = {
    "append": (lambda lake: lake.append(TABLE, ROWS), ChangedRows(inserted=2)),
    "overwrite": (lambda lake: lake.overwrite(TABLE, ROWS[:1]), ChangedRows(1, 0, 2)),
    "update": (lambda lake: lake.update(TABLE, {"item": "'x'"}, "id = 1"), ChangedRows(0, 1, 0)),
    "delete": (lambda lake: lake.delete(TABLE, "id = 1"), ChangedRows(0, 0, 1)),
    "delete all": (lambda lake: lake.delete(TABLE), ChangedRows(0, 0, 2)),
    "merge": (
        lambda lake: lake.merge(
            TABLE,
            [{"id": 2, "item": "b", "day": "tue"}, {"id": 3, "item": "c", "day": "wed"}],
            "target.id = source.id",
            when_matched_update=True,
            when_not_matched_insert=True,
        ),
        ChangedRows(1, 1, 0),
    ),
}


@pytest.mark.parametrize(("statement", "rows"), STATEMENTS.values(), ids=STATEMENTS)
def test_a_receipt_counts_rows(
    lake: Ledger, statement: Callable[[Ledger], Any], rows: ChangedRows
) -> None:
    receipt = statement(lake)
    number = lake.table(TABLE).table

    assert receipt.rows == {number: rows}
    assert receipt.num_affected_rows == rows.affected
    newest = lake.history(TABLE, limit=1)[0]
    assert (newest.position, rows_in(newest.info)) == (receipt.position, rows)


def test_statements_of_a_txn_count_together(lake: Ledger) -> None:
    with lake.transaction() as txn:
        txn.insert(TABLE, ROWS)
        txn.delete(TABLE, "id = 1")

    assert txn.receipt is not None
    assert list(txn.receipt.rows.values()) == [ChangedRows(2, 0, 2)]


def test_rows_are_noted_beside_applications(lake: Ledger) -> None:
    with lake.transaction() as txn:
        txn.insert(TABLE, ROWS)
        txn.app("job", 7, info={"offset": 5})

    assert rows_in(lake.history(TABLE, limit=1)[0].info) == ChangedRows(inserted=2)
    assert lake.progress("job")[0].info == {"offset": 5}


def test_a_statement_that_loses_is_repeated(lake: Ledger) -> None:
    """The winner comes between the read and the commit of the first attempt."""
    done: list[int] = []

    def work(txn: Any) -> None:
        txn.update(TABLE, {"item": "concat(item, '!')"}, "id = 1")
        if not done:
            done.append(1)
            lake.delete(TABLE, "id = 1")

    receipt = lake._commit_of(work, None)  # noqa: SLF001 - a conflict needs a hand in between

    assert receipt.num_affected_rows == 0
    assert [row["id"] for row in rows_of(lake, TABLE)] == [2]


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_a_scan_has_a_limit(lake: Ledger, limit: int) -> None:
    scan = lake.scan(TABLE, limit=limit)

    assert scan.count() == scan.to_arrow().num_rows == min(limit, len(ROWS))
    assert scan.head(1).num_rows == min(limit, 1)


def test_a_negative_limit_is_refused(lake: Ledger) -> None:
    with pytest.raises(ValueError, match="limit is -1"):
        lake.scan(TABLE, limit=-1)
