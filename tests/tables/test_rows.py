"""Rows of every library become batches of a table's columns, or are refused by name."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ledger.arrow.given_rows import as_batches
from ledger.arrow.schema import TableSchema
from ledger.definitions.definitions import table_definition
from ledger.log.wire.file_list import AddFile

NOON = datetime.fromisoformat("2024-01-01 12:00")
MIDNIGHT = NOON.replace(hour=0)
NAN = float("nan")


def schema(*columns: tuple[str, str]) -> TableSchema:
    return TableSchema.of(table_definition(columns))


def read(rows: Any, *columns: tuple[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = as_batches(rows, schema(*columns)).read_all().to_pylist()
    return found


TABLE = pa.table({"ID": pa.array([1, 2], pa.int32()), "name": ["a", None]})
SAME: dict[str, Any] = {
    "table": TABLE,
    "batch": TABLE.to_batches()[0],
    "reader": TABLE.to_reader(),
    "batches": TABLE.to_batches(),
    "pandas": TABLE.to_pandas(),
    "polars": pl.from_arrow(TABLE),
    "lazy polars": pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
    "duckdb": duckdb.sql("SELECT 1 AS id, 'a' AS name UNION ALL SELECT 2, NULL ORDER BY 1"),
    "dicts": [{"id": 1, "name": "a"}, {"id": 2}],
    "iterator": iter([{"id": np.int64(1), "name": "a"}, {"id": np.int64(2)}]),
    "lists": {"id": [1, 2], "name": ["a", None]},
    "numpy": {"id": np.array([1, 2]), "name": pa.array(["a", None])},
}


@pytest.mark.parametrize("kind", SAME)
def test_the_same_rows_come_from_every_library(kind: str) -> None:
    found = read(SAME[kind], ("id", "bigint"), ("name", "string"), ("more", "double"))
    assert found == [{"id": 1, "name": "a", "more": None}, {"id": 2, "name": None, "more": None}]


def test_a_structured_array_has_rows() -> None:
    rows = np.array([(1, 2.5)], dtype=[("id", "i4"), ("x", "f8")])
    assert read(rows, ("id", "int"), ("x", "double")) == [{"id": 1, "x": 2.5}]


KEPT: list[tuple[str, Any, Any]] = [
    ("int", np.int64(3), 3),
    ("int", 3.0, 3),
    ("int", Decimal(3), 3),
    ("tinyint", 127, 127),
    ("double", 3, 3.0),
    ("float", 0.1, np.float32(0.1)),
    ("decimal(5,2)", 3, Decimal("3.00")),
    ("decimal(5,2)", Decimal("1.5"), Decimal("1.50")),
    ("string", "", ""),
    ("binary", bytearray(b"x"), b"x"),
    ("date", pd.Timestamp("2024-01-01"), date(2024, 1, 1)),
    ("date", np.datetime64("2024-01-01"), date(2024, 1, 1)),
    ("date", date(2024, 1, 1), date(2024, 1, 1)),
    ("timestamp_ntz", date(2024, 1, 1), MIDNIGHT),
    ("timestamp_ntz", NOON, NOON),
    ("timestamp", NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC)),
    ("boolean", np.bool_(1), True),
    ("int", pd.NA, None),
    ("timestamp_ntz", pd.NaT, None),
    ("array<int>", [1, None, 2.0], [1, None, 2]),
    ("array<int>", np.array([1, 2]), [1, 2]),
    ("map<string,int>", {"a": 1}, [("a", 1)]),
    ("struct<a:int,b:string>", {"A": 1}, {"a": 1, "b": None}),
    ("array<struct<a:date>>", [{"a": date(2024, 1, 1)}], [{"a": date(2024, 1, 1)}]),
    ("varchar(3)", "abc", "abc"),
    ("char(3)", "a", "a  "),
]


@pytest.mark.parametrize(("kind", "given", "kept"), KEPT)
def test_a_value_is_kept_if_its_column_can_hold_it(kind: str, given: Any, kept: Any) -> None:
    assert read([{"x": given}], ("x", kind)) == [{"x": kept}]


REFUSED: list[tuple[str, Any, type[Exception]]] = [
    ("int", 3.5, TypeError),
    ("int", NAN, TypeError),
    ("int", "3", TypeError),
    ("int", True, TypeError),
    ("int", 2**31, ValueError),
    ("int", 2**70, ValueError),
    ("double", 2**53 + 1, ValueError),
    ("decimal(5,2)", Decimal("1.234"), ValueError),
    ("decimal(5,2)", 1.5, TypeError),
    ("string", 1, TypeError),
    ("date", NOON, TypeError),
    ("date", "2024-01-01", TypeError),
    ("timestamp", NOON, TypeError),
    ("timestamp_ntz", NOON.replace(tzinfo=UTC), TypeError),
    ("timestamp_ntz", pd.Timestamp("2024-01-01 00:00:00.000000001"), TypeError),
    ("array<int>", [1, "2"], TypeError),
    ("struct<a:int>", {"b": 1}, ValueError),
    ("struct<a:int NOT NULL>", {"a": None}, ValueError),
    ("varchar(3)", "abcd", ValueError),
]


@pytest.mark.parametrize(("kind", "given", "error"), REFUSED)
def test_values_that_are_refused(kind: str, given: Any, error: type[Exception]) -> None:
    """A value is refused, with the name of its column, if it would become another one."""
    with pytest.raises(error, match="column x"):
        read([{"x": given}], ("x", kind))


CAST: list[tuple[str, Any, Any]] = [
    ("bigint", pa.array([1], pa.uint8()), 1),
    ("int", pa.array([2.0]), 2),
    ("float", pa.array([0.5]), 0.5),
    ("double", pa.array([0.5], pa.float32()), 0.5),
    ("decimal(20,1)", pa.array([7], pa.uint64()), Decimal("7.0")),
    ("date", pa.array([MIDNIGHT]), date(2024, 1, 1)),
    ("string", pa.array(["a"]).dictionary_encode(), "a"),
    ("string", pa.array(["a"], pa.string_view()), "a"),
    ("string", pa.nulls(1), None),
    (
        "timestamp",
        pa.array([0], pa.timestamp("ns", "Europe/Berlin")),
        datetime(1970, 1, 1, tzinfo=UTC),
    ),
    ("array<bigint>", pa.array([[1, 2]], pa.list_(pa.int8(), 2)), [1, 2]),
    ("array<bigint>", pa.array([None, [1]], pa.large_list(pa.int8())).slice(1), [1]),
    (
        "struct<a:bigint,b:string>",
        pa.array([{"B": "x", "A": 1}, {"B": "y", "A": 2}]).slice(1),
        {"a": 2, "b": "y"},
    ),
]


@pytest.mark.parametrize(("kind", "array", "kept"), CAST)
def test_arrows_arrays_are_cast_where_nothing_is_lost(kind: str, array: Any, kept: Any) -> None:
    assert read(pa.table({"x": array}), ("x", kind)) == [{"x": kept}]


LOST: list[tuple[str, Any, type[Exception]]] = [
    ("int", pa.array([2**40]), ValueError),
    ("int", pa.array([1.5]), ValueError),
    ("float", pa.array([0.1]), ValueError),
    ("string", pa.array([1]), TypeError),
    ("int", pa.array(["1"]), TypeError),
    ("double", pa.array([Decimal("0.1")]), TypeError),
    ("timestamp", pa.array([NOON]), TypeError),
    ("timestamp_ntz", pa.array([1], pa.timestamp("ns")), ValueError),
    ("date", pa.array([NOON]), ValueError),
    ("array<int>", pa.array([["a"]]), TypeError),
    ("struct<a:int>", pa.array([{"a": 1, "b": 2}]), ValueError),
    (
        "struct<a:int NOT NULL>",
        pa.array([None, {"a": None}], pa.struct([("a", pa.int32())])),
        ValueError,
    ),
]


@pytest.mark.parametrize(("kind", "array", "error"), LOST)
def test_arrays_that_are_refused(kind: str, array: Any, error: type[Exception]) -> None:
    """An array whose values would become others is refused."""
    with pytest.raises(error, match="column x"):
        read(pa.table({"x": array}), ("x", kind))


def test_a_float_that_is_not_a_number_is_kept() -> None:
    (row,) = read(pa.table({"x": [NAN]}), ("x", "float"))
    assert np.isnan(row["x"])


def test_not_null_columns_have_values() -> None:
    definition = table_definition([("x", "int"), ("y", "int")])
    filled = definition._replace(
        columns=[definition.columns[0]._replace(nullable=False), definition.columns[1]]
    )
    for rows in ([{"x": 1}, {"y": 2}], {"y": [1]}):
        with pytest.raises(ValueError, match="column x is NOT NULL"):
            as_batches(rows, TableSchema.of(filled)).read_all()


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="did you mean amount"):
        read([{"amout": 1}], ("amount", "int"))
    with pytest.raises(ValueError, match="each name once"):
        read(pa.table([[1], [2]], names=["a", "A"]), ("a", "bigint"))


NO_ROWS: list[Any] = [
    "day=2024-01-01",
    Path("a.parquet"),
    ["a.parquet"],
    AddFile("a.parquet"),
    [AddFile("a.parquet")],
    b"rows",
    5,
    None,
    [1, 2],
    {"id": 1},
    {"id": "abc"},
    {1: [2]},
    [{1: 2}],
    [{"id": 1}, 5],
]


@pytest.mark.parametrize("rows", NO_ROWS)
def test_what_is_not_rows_is_refused(rows: Any) -> None:
    with pytest.raises(TypeError, match=r"must be|names no rows"):
        as_batches(rows)


def test_a_text_points_to_the_verb_for_partitions() -> None:
    with pytest.raises(TypeError, match=r"txn\.wrote"):
        as_batches("day=2024-01-01")


def test_lists_of_different_lengths_are_no_columns_of_one_table() -> None:
    with pytest.raises(ValueError, match="same number of rows"):
        as_batches({"a": [1], "b": [1, 2]})
