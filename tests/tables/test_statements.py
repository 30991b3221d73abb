"""Statements over rows: what they change, and which files they touch."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.errors import MetadataChangedException, UnknownColumnError
from ledger.reads.rows import TableRow
from ledger.transaction.transaction import Transaction
from tests.tables.reading import rows_of, stored

ONE, TWO = date(2024, 1, 1), date(2024, 1, 2)
ROWS = [
    {"id": 1, "day": ONE, "item": "pen", "price": 1.0},
    {"id": 2, "day": ONE, "item": None, "price": 2.0},
    {"id": 3, "day": TWO, "item": "ink", "price": None},
    {"id": 4, "day": None, "item": "pen", "price": 4.0},
]


@pytest.fixture
def sales(ledger: Ledger, tmp_path: Path) -> TableRow:
    """Return a table partitioned by day, with four rows in three files."""
    columns = [("id", "bigint"), ("day", "date"), ("item", "string"), ("price", "double")]
    row = ledger.create_table(
        "shop.sales", columns, partition_columns=["day"], location=tmp_path / "sales"
    )
    with ledger.transaction() as txn:
        txn.insert("shop.sales", ROWS)
    return row


def ids(ledger: Ledger) -> list[int]:
    return [row["id"] for row in rows_of(ledger, "shop.sales")]


def paths(ledger: Ledger) -> set[str]:
    return set(ledger.read("shop.sales").paths)


def test_inserted_rows_are_read(ledger: Ledger, sales: TableRow) -> None:
    assert rows_of(ledger, "shop.sales") == ROWS
    assert paths(ledger) == stored(sales)
    assert len(paths(ledger)) == 3


def test_a_delete_rewrites_only_files_with_matching_rows(ledger: Ledger, sales: TableRow) -> None:
    """NULL keeps a row, and files without a matching row stay."""
    before = paths(ledger)
    with ledger.transaction() as txn:
        assert txn.delete(sales, "item = 'pen' AND day = DATE'2024-01-01'").deleted == 1
    assert ids(ledger) == [2, 3, 4]
    assert len(before & paths(ledger)) == 2


def test_a_delete_of_partitions_reads_no_rows(ledger: Ledger, sales: TableRow) -> None:
    """A condition on partition columns removes files as they are: nothing is read or written."""
    for each in stored(sales):
        (Path(sales.definition.location) / each).write_bytes(b"not parquet")
    with ledger.transaction() as txn:
        assert txn.delete(sales, "day = DATE'2024-01-01' OR day IS NULL").deleted == 3
    assert {each.partition for each in ledger.read(sales)} == {("2024-01-02",)}


def test_without_a_condition_no_row_stays(ledger: Ledger, sales: TableRow) -> None:
    with ledger.transaction() as txn:
        txn.delete(sales)
    assert rows_of(ledger, "shop.sales") == []


UPDATES: list[tuple[dict[str, Any], str | None, list[Any]]] = [
    ({"price": "price * 2"}, None, [2.0, 4.0, None, 8.0]),
    ({"price": 5}, "item IS NULL", [1.0, 5.0, None, 4.0]),
    ({"price": None}, "price > 1", [1.0, None, None, None]),
    ({"Price": "id"}, "NOT (item = 'pen')", [1.0, 2.0, 3.0, 4.0]),
]


@pytest.mark.parametrize(("changes", "where", "prices"), UPDATES)
def test_an_expression_sees_the_row_as_it_was(
    ledger: Ledger, sales: TableRow, changes: dict[str, Any], where: str | None, prices: list[Any]
) -> None:
    with ledger.transaction() as txn:
        txn.update(sales, changes, where)
    assert [row["price"] for row in rows_of(ledger, "shop.sales")] == prices


def test_an_update_moves_rows_between_partitions(ledger: Ledger, sales: TableRow) -> None:
    with ledger.transaction() as txn:
        txn.update(sales, {"day": TWO, "id": "id + 10"}, "id = 1")
    assert [(row["id"], row["day"]) for row in rows_of(ledger, "shop.sales")] == [
        (2, ONE),
        (3, TWO),
        (4, None),
        (11, TWO),
    ]


WRONG: list[tuple[Any, type[Exception]]] = [
    ({"price": "'1'"}, TypeError),
    ({"id": "id * 9223372036854775807"}, ValueError),
    ({"prise": 1}, ValueError),
    ({"price": "prise"}, UnknownColumnError),
    ({}, TypeError),
    ("price = 1", TypeError),
    ({"id": "id / 0"}, ValueError),
]


@pytest.mark.parametrize(("changes", "error"), WRONG)
def test_an_update_that_fails_leaves_neither_a_change_nor_a_file_and_the_txn_goes_on(
    ledger: Ledger, sales: TableRow, changes: Any, error: type[Exception]
) -> None:
    with ledger.transaction() as txn:
        with pytest.raises(error):
            txn.update(sales, changes)
        txn.delete(sales, "id = 4")
    assert rows_of(ledger, "shop.sales") == ROWS[:3]
    assert len(stored(sales)) == 3


def test_new_rows_take_the_place_of_those_of_a_condition(ledger: Ledger, sales: TableRow) -> None:
    new = {"id": 9, "day": ONE, "item": "cap", "price": 9.0}
    with ledger.transaction() as txn:
        txn.overwrite(sales, [new], "day = DATE'2024-01-01'")
    assert ids(ledger) == [3, 4, 9]
    with ledger.transaction() as txn:
        with pytest.raises(ValueError, match="must fulfil"):
            txn.overwrite(sales, [new], "price > 10")
        txn.overwrite(sales, [new])
    assert rows_of(ledger, "shop.sales") == [new]


def test_own_writes_are_seen(ledger: Ledger, sales: TableRow) -> None:
    with ledger.transaction() as txn:
        txn.insert(sales, [{"id": 5, "day": ONE, "price": 5.0}])
        txn.update(sales, {"price": "price + 1"}, "day = DATE'2024-01-01'")
        txn.delete(sales, "price = 2")
        txn.delete(sales, "id = 5")
        assert not ids_in(txn, sales) & {1, 5}
    assert ids(ledger) == [2, 3, 4]
    assert stored(sales) > paths(ledger)  # Released files of older versions stay for their readers.
    (version,) = ledger.reads().versions(sales.table, limit=1)
    assert version.operation == "WRITE, UPDATE, DELETE"
    assert (version.adds, version.removes) == (1, 1)


def ids_in(txn: Transaction, table: TableRow) -> set[int]:
    made = txn.statement(table, "test")
    found: Sequence[Any] = [made.rows(each) for each in made.read(None, record=False)]
    return {row["id"] for each in found for row in each.to_pylist()}


def test_an_aborted_txn_leaves_no_file(ledger: Ledger, sales: TableRow) -> None:
    before = stored(sales)
    txn = ledger.begin()
    txn.insert(sales, [{"id": 5}])
    txn.delete(sales, "id = 1")
    assert stored(sales) > before
    txn.abort()
    assert stored(sales) == before
    assert rows_of(ledger, "shop.sales") == ROWS


def test_optimize_sorts_the_rows_of_each_file(ledger: Ledger, sales: TableRow) -> None:
    ledger.append(sales, [{"id": number * 7 % 20, "day": ONE} for number in range(20)])
    before = rows_of(ledger, "shop.sales")
    for columns in (["none"], ["day"]):
        with pytest.raises(ValueError, match="sort_by must name columns"):
            ledger.optimize(sales, sort_by=columns)
    with pytest.raises(TypeError, match="sort_by must be a list"):
        ledger.optimize(sales, sort_by="id")
    ledger.optimize(sales, sort_by=["ID"])
    assert rows_of(ledger, "shop.sales") == before
    found = ledger.scan(sales, "day = DATE'2024-01-01'").to_arrow()["id"].to_pylist()
    assert found == sorted(found)
    with ledger.transaction() as txn:
        assert txn.optimize(sales, "day IS NULL", sort_by=["id"]).added <= 1
    assert ledger.optimize(sales).tables == {}


def test_many_small_files_become_one_in_each_partition(ledger: Ledger, sales: TableRow) -> None:
    for number in range(5, 9):
        with ledger.transaction() as txn:
            txn.insert(sales, [{"id": number, "day": ONE}])
    before = rows_of(ledger, "shop.sales")
    with ledger.transaction() as txn:
        with pytest.raises(ValueError, match="partition columns only"):
            txn.optimize(sales, "id = 1")
        assert txn.optimize(sales, "day = DATE'2024-01-02'") == (0, 0)
        assert txn.optimize(sales) == (5, 1)
    assert rows_of(ledger, "shop.sales") == before
    assert len(paths(ledger)) == 3
    (version,) = ledger.reads().versions(sales.table, limit=1)
    assert version.operation == "OPTIMIZE"


def test_new_columns_come_with_rows(ledger: Ledger, sales: TableRow) -> None:
    with pytest.raises(ValueError, match="evolve=True"), ledger.transaction() as txn:
        txn.insert(sales, [{"id": 5, "tag": "x"}])
    with ledger.transaction() as txn:
        txn.insert(sales, [{"id": 5, "tag": "x"}], evolve=True)
        txn.update(sales, {"tag": "'y'"}, "id = 1")
    assert [(row["id"], row["tag"]) for row in rows_of(ledger, "shop.sales")] == [
        (1, "y"),
        (2, None),
        (3, None),
        (4, None),
        (5, "x"),
    ]


@pytest.mark.parametrize("verb", ["insert", "overwrite"])
@pytest.mark.parametrize(
    "rows", [[{"id": 2**70, "tag": "x"}], [{"id": 5, "tag": "x", "day": "soon"}]]
)
def test_rows_that_do_not_fit_change_no_column(
    ledger: Ledger, sales: TableRow, verb: str, rows: list[Any]
) -> None:
    with ledger.transaction() as txn:
        with pytest.raises((TypeError, ValueError)):
            getattr(txn, verb)(sales, rows, evolve=True)
        txn.insert(sales, [{"id": 5}])
    assert ledger.table("shop.sales").definition.columns == sales.definition.columns
    assert ids(ledger) == [1, 2, 3, 4, 5]


def test_an_overwrite_evolves_its_condition_and_rows_too(ledger: Ledger, sales: TableRow) -> None:
    with ledger.transaction() as txn:
        rows = [{"id": 5, "day": ONE, "tag": "x"}]
        txn.overwrite(sales, rows, "day = DATE'2024-01-01' AND (tag = 'x' OR id < 2)", evolve=True)
        assert txn.scan(sales, "tag = 'x'").count() == 1
        txn.update(sales, {"tag": "'y'"}, "id = 2")
    found = [(row["id"], row["tag"]) for row in rows_of(ledger, "shop.sales")]
    assert found == [(2, "y"), (3, None), (4, None), (5, "x")]


@pytest.mark.parametrize("is_at_once", [True, False])
def test_other_partition_columns(ledger: Ledger, tmp_path: Path, *, is_at_once: bool) -> None:
    """Files of before have the values of other columns, also for the txn that changed these."""
    columns = [("id", "int"), ("a", "int"), ("b", "int")]
    ledger.create_table("db.t", columns, partition_columns=["b"], location=tmp_path)
    ledger.append("db.t", [{"id": 1, "b": 1}, {"id": 2, "a": 2, "b": 1}, {"id": 3, "a": 1}])
    if is_at_once:
        ledger.alter_table("db.t", partition_columns=["a"])
    with ledger.transaction() as txn:
        if not is_at_once:
            txn.alter_table("db.t", partition_columns=["a"])
        assert txn.scan("db.t", "a = 1").count() == 1
        assert txn.delete("db.t", "a > 1").deleted == 1
        txn.optimize("db.t")
        assert txn.delete("db.t", "a IS NOT NULL").deleted == 1
    assert [row["id"] for row in ledger.scan("db.t").to_arrow().to_pylist()] == [1]


def test_names_that_two_columns_exchange(ledger: Ledger, tmp_path: Path) -> None:
    """A condition in the txn that renames means the columns as the txn has them."""
    columns = [("id", "int"), ("a", "int"), ("b", "int")]
    row = ledger.create_table("db.t", columns, partition_columns=["a"], location=tmp_path)
    ledger.append("db.t", [{"id": 1, "a": 1, "b": 2}, {"id": 2, "a": 2, "b": 1}])
    other = {"id": "id", "a": "b", "b": "a"}
    renamed = [column._replace(name=other[column.name]) for column in row.definition.columns]
    with ledger.transaction() as txn:
        changed = row.definition._replace(columns=renamed, partition_columns=["b"])
        txn.alter_table("db.t", changed)
        assert [each["id"] for each in txn.scan("db.t", "a = 1").to_arrow().to_pylist()] == [2]
        assert txn.delete("db.t", "a = 1").deleted == 1
        assert txn.update("db.t", {"id": "id + 10"}, "b = 1").updated == 1
    assert ledger.scan("db.t").to_arrow().to_pylist() == [{"id": 11, "b": 1, "a": 2}]


def test_optimize_keeps_empty_texts(ledger: Ledger, tmp_path: Path) -> None:
    """A partition shows an empty text as NULL, so such rows are not put into a partition."""
    ledger.create_table("db.t", [("id", "int"), ("p", "string")], location=tmp_path)
    for at, p in enumerate(("", "a", "")):
        ledger.append("db.t", [{"id": at, "p": p}])
    ledger.alter_table("db.t", partition_columns=["p"])
    with ledger.transaction() as txn, pytest.raises(ValueError, match="update these rows first"):
        txn.optimize("db.t")
    with ledger.transaction() as txn:
        txn.update("db.t", {"p": "'e'"}, "p = ''")
        txn.optimize("db.t")
    assert sorted(ledger.scan("db.t").to_arrow()["p"].to_pylist()) == ["a", "e", "e"]


NESTED = "struct<a:int,tags:array<struct<x:string>>>"
EVOLUTIONS: list[tuple[Any, Any, list[Any]]] = [
    (  # Python values that fit widen nothing.
        [{"n": 1, "s": {"a": 2, "tags": [{"x": "y"}]}}],
        ("int", NESTED),
        [1, {"a": 2, "tags": [{"x": "y"}]}],
    ),
    ([{"n": 2**40}], ("bigint", NESTED), [2**40, None]),
    (
        [{"n": 1, "s": {"b": "new", "a": 1}}],
        ("int", "struct<a:int,tags:array<struct<x:string>>,b:string>"),
        [1, {"a": 1, "tags": None, "b": "new"}],
    ),
    (
        {"n": [1], "s": [{"tags": [{"x": "y", "z": [True]}, None]}]},
        ("int", "struct<a:int,tags:array<struct<x:string,z:array<boolean>>>>"),
        [1, {"a": None, "tags": [{"x": "y", "z": [True]}, None]}],
    ),
    (
        pa.table({"s": pa.array([{"A": 2**40}], pa.struct([("A", pa.int64())]))}),
        ("int", "struct<a:bigint,tags:array<struct<x:string>>>"),
        [None, {"a": 2**40, "tags": None}],
    ),
]


@pytest.mark.parametrize(("rows", "types", "shown"), EVOLUTIONS)
def test_fields_of_structs_evolve(
    ledger: Ledger, tmp_path: Path, rows: Any, types: tuple[str, str], shown: list[Any]
) -> None:
    columns = [("n", "int"), ("s", NESTED)]
    ledger.create_table("db.nested", columns, location=tmp_path / "nested")
    ledger.append("db.nested", [{"n": 0, "s": {"a": 0, "tags": [{"x": "old"}]}}])
    ledger.append("db.nested", rows, evolve=True)
    assert tuple(column.type for column in ledger.table("db.nested").definition.columns) == types
    found = ledger.scan("db.nested").to_arrow().to_pylist()
    old, new = sorted(found, key=lambda row: bool(row["n"] != 0))
    assert list(new.values()) == shown
    assert (old["n"], old["s"]["a"], old["s"]["tags"][0]["x"]) == (0, 0, "old")
    assert set(old["s"]) == set(shown[1] or old["s"])
    with ledger.transaction() as txn:
        txn.update("db.nested", {"n": 7})
    assert {row["n"] for row in ledger.scan("db.nested").to_arrow().to_pylist()} == {7}


@pytest.mark.parametrize("kind", ["rename", "drop", "partition", "move"])
def test_a_table_is_not_renamed_under_own_rows(ledger: Ledger, sales: TableRow, kind: str) -> None:
    """After its rows a txn adds columns, but renames none: a reader would look for other names."""
    renamed = [column._replace(name=f"{column.name}2") for column in sales.definition.columns]
    changes: dict[str, dict[str, Any]] = {
        "rename": {"columns": renamed},
        "drop": {"columns": list(sales.definition.columns)[:-1]},
        "partition": {"partition_columns": ["item"]},
        "move": {"location": f"{sales.definition.location}-elsewhere"},
    }
    with ledger.transaction() as txn:
        txn.insert(sales, [{"id": 5}])
        with pytest.raises(ValueError, match="before the txn writes rows"):
            txn.alter_table(sales, **changes[kind])
        txn.alter_table(sales, columns=[*sales.definition.columns, ("more", "int")])
        txn.insert(sales, [{"id": 6, "more": 1}])
    assert ids(ledger) == [1, 2, 3, 4, 5, 6]


def test_an_alteration_that_comes_too_late_is_a_conflict(ledger: Ledger, sales: TableRow) -> None:
    renamed = [column._replace(name=f"{column.name}2") for column in sales.definition.columns]
    by = [f"{column}2" for column in sales.definition.partition_columns]
    txn = ledger.begin()
    txn.insert(sales, [{"id": 5}])
    ledger.alter_table(sales, sales.definition._replace(columns=renamed, partition_columns=by))
    with pytest.raises(MetadataChangedException):
        txn.alter_table(sales, columns=[*sales.definition.columns, ("more", "int")])


def test_a_text_in_place_of_rows_points_to_wrote(ledger: Ledger, sales: TableRow) -> None:
    with pytest.raises(TypeError, match=r"txn\.wrote"), ledger.transaction() as txn:
        txn.insert(sales, "day=2024-01-01")
