"""Every type of pandas, polars, Arrow and NumPy is taken as it is, or refused with its column."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ledger.arrow.given_rows import opened
from ledger.arrow.types import sql_type
from ledger.client import Ledger
from ledger.testing import InMemoryLedger
from tests.tables.reading import rows_of

NEW_YEAR = datetime.fromisoformat("2024-01-01")
NOON = datetime.fromisoformat("2024-01-01 12:00")
EAST = timezone(timedelta(hours=2))
AN_ID = UUID(int=7)
VIEW = pa.array([[1], None, [2, 3]], pa.list_view(pa.int64()))
MOVED = pa.LargeListViewArray.from_arrays(
    pa.array([2, 0], pa.int64()), pa.array([1, 2], pa.int64()), pa.array([1, 2, 3], pa.int64())
)
WORDS = pa.DictionaryArray.from_arrays(
    pa.array([1, None, 0], pa.uint32()), pa.array(["a", "b"], pa.string_view())
)
MAPS = pa.array([[("a", 1)], None, [("b", 2), ("c", None)], []], pa.map_(pa.string(), pa.int8()))
NESTED = pa.StructArray.from_arrays([WORDS, VIEW], names=["w", "v"])
RUNS = pc.run_end_encode(pa.array(["a", "a", None, "b"]))


@pytest.fixture
def lake(memory: InMemoryLedger, tmp_path: Path) -> Ledger:
    """Return a client with a table that holds one row."""
    ledger = memory.connect(warehouse=str(tmp_path))
    ledger.create_table("db.t", [{"id": 1}])
    return ledger


def arrow(array: Any) -> pa.Table:
    return pa.table({"c": array})


def series(values: Any, dtype: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"c": pd.Series(values, dtype=dtype)})


def polar(values: Any, dtype: Any = None) -> pl.DataFrame:
    return pl.DataFrame({"c": pl.Series(values, dtype=dtype)})


TAKEN: list[tuple[str, Any, str, list[Any]]] = [
    ("float16", arrow(pa.array(np.array([1.5, -2.0], np.float16))), "float", [1.5, -2.0]),
    ("float16 of pandas", series(np.array([1.5], np.float16)), "float", [1.5]),
    ("categorical", polar(["a", None, "b"], pl.Categorical), "string", ["a", None, "b"]),
    ("enum", polar(["a", "b"], pl.Enum(["a", "b"])), "string", ["a", "b"]),
    (
        "list of categorical",
        polar([["a"], None], pl.List(pl.Categorical)),
        "array<string>",
        [["a"], None],
    ),
    ("array", polar([[1, 2], None], pl.Array(pl.Int8, 2)), "array<tinyint>", [[1, 2], None]),
    ("category of pandas", series(["a", None], "category"), "string", ["a", None]),
    ("category of numbers", series([3, 1], "category"), "bigint", [3, 1]),
    ("dictionary in a slice", arrow(WORDS.slice(1)), "string", [None, "a"]),
    ("list view", arrow(VIEW), "array<bigint>", [[1], None, [2, 3]]),
    ("list view in a slice", arrow(VIEW.slice(1)), "array<bigint>", [None, [2, 3]]),
    ("list view in another order", arrow(MOVED), "array<bigint>", [[3], [1, 2]]),
    (
        "fixed lists with NULL",
        arrow(pa.array([[1], None, [2]], pa.list_(pa.int8(), 1)).slice(1)),
        "array<tinyint>",
        [None, [2]],
    ),
    (
        "nested in a slice",
        arrow(NESTED.slice(1)),
        "struct<w:string,v:array<bigint>>",
        [{"w": None, "v": None}, {"w": "a", "v": [2, 3]}],
    ),
    (
        "views of dictionaries",
        arrow(
            pa.ListViewArray.from_arrays(
                pa.array([1, 0], pa.int32()), pa.array([2, 1], pa.int32()), WORDS
            )
        ),
        "array<string>",
        [[None, "a"], ["b"]],
    ),
    (
        "maps in a slice",
        arrow(MAPS.slice(1)),
        "map<string,tinyint>",
        [None, [("b", 2), ("c", None)], []],
    ),
    (
        "maps of dictionaries",
        arrow(pa.MapArray.from_arrays(pa.array([0, 2, 3], pa.int32()), ["x", "y", "z"], WORDS)),
        "map<string,string>",
        [[("x", "b"), ("y", None)], [("z", "a")]],
    ),
    ("runs in a slice", arrow(RUNS.slice(1)), "string", ["a", None, "b"]),
    ("uint64", arrow(pa.array([2**64 - 1], pa.uint64())), "decimal(20,0)", [Decimal(2**64 - 1)]),
    ("uint8", series([255], "uint8"), "smallint", [255]),
    (
        "decimal256",
        arrow(pa.array([Decimal("1.5")], pa.decimal256(38, 2))),
        "decimal(38,2)",
        [Decimal("1.50")],
    ),
    (
        "decimal32",
        arrow(pa.array([Decimal("1.5")], pa.decimal32(5, 2))),
        "decimal(5,2)",
        [Decimal("1.50")],
    ),
    ("string view", arrow(pa.array(["a"], pa.string_view())), "string", ["a"]),
    ("fixed bytes", arrow(pa.array([b"ab"], pa.binary(2))), "binary", [b"ab"]),
    ("uuid", [{"c": AN_ID}], "binary", [AN_ID.bytes]),
    (
        "bool8",
        arrow(pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 5, None], pa.int8()))),
        "boolean",
        [False, True, None],
    ),
    ("date64", arrow(pa.array([date(2024, 1, 1)], pa.date64())), "date", [date(2024, 1, 1)]),
    (
        "zone",
        series(pd.to_datetime(["2024-01-01"]).tz_localize("Europe/Berlin")),
        "timestamp",
        [datetime(2023, 12, 31, 23, tzinfo=UTC)],
    ),
    (
        "zones of several kinds",
        [{"c": NOON.replace(tzinfo=EAST)}, {"c": NOON.replace(tzinfo=UTC)}],
        "timestamp",
        [datetime(2024, 1, 1, 10, tzinfo=UTC), NOON.replace(tzinfo=UTC)],
    ),
    ("NaT", series([pd.NaT, NOON]), "timestamp_ntz", [None, NOON]),
    (
        "years of NumPy",
        {"c": np.array(["2024", "NaT"], "M8[Y]")},
        "timestamp_ntz",
        [NEW_YEAR, None],
    ),
    ("days of NumPy", {"c": np.array(["2024-01-01"], "M8[D]")}, "date", [date(2024, 1, 1)]),
    ("other byte order", {"c": np.array([1], ">i4")}, "int", [1]),
    ("masked", {"c": np.ma.array([1, 2], mask=[False, True])}, "bigint", [1, None]),
    ("masked texts", {"c": np.ma.array(["a", "b"], mask=[False, True])}, "string", ["a", None]),
    ("sparse", series(pd.arrays.SparseArray([0, 0, 7])), "bigint", [0, 0, 7]),
    ("Int64 of pandas", series([1, None], "Int64"), "bigint", [1, None]),
    ("objects with NaN", series(["a", float("nan"), None], object), "string", ["a", None, None]),
    (
        "arrays of objects",
        series([np.array([1, 2]), None], object),
        "array<bigint>",
        [[1, 2], None],
    ),
    ("int and float", [{"c": 1}, {"c": 0.5}], "double", [1.0, 0.5]),
    (
        "int and Decimal",
        [{"c": 1}, {"c": Decimal("0.5")}],
        "decimal(2,1)",
        [Decimal("1.0"), Decimal("0.5")],
    ),
    ("an empty struct", arrow(pa.array([{}, None], pa.struct([]))), "struct<>", [{}, None]),
]


@pytest.mark.parametrize(
    ("given", "kind", "kept"), [each[1:] for each in TAKEN], ids=[each[0] for each in TAKEN]
)
def test_types_that_are_taken(given: Any, kind: str, kept: list[Any]) -> None:
    """The values are as they were, in a type that a table has."""
    found = opened(given).read_all()
    assert (sql_type(found.schema.field("c").type), found.column("c").to_pylist()) == (kind, kept)


REFUSED: list[tuple[str, Any]] = [
    ("period", series(pd.period_range("2024", "2025", freq="M"))),
    ("interval", series(pd.interval_range(0, 2))),
    ("categories of intervals", series(pd.cut([1, 2, 3], 2))),
    ("timedelta", series([timedelta(1)])),
    ("duration", polar([timedelta(1)])),
    ("time", [{"c": time(1)}]),
    ("complex", series(np.array([1j]))),
    ("complex of NumPy", {"c": np.array([1j])}),
    ("long double", {"c": np.array([1], np.longdouble)}),
    ("two dimensions", {"c": np.zeros((2, 2))}),
    ("records", {"c": np.array([(1,)], [("a", "i4")])}),
    ("objects of several kinds", series([1, "x"], object)),
    ("objects of polars", polar([object()], pl.Object)),
    ("Int128 of polars", polar([1], pl.Int128)),
    ("large decimals", arrow(pa.array([Decimal(1)], pa.decimal256(40, 0)))),
    ("union", arrow(pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]))),
    (
        "union in a list",
        arrow(
            pa.ListArray.from_arrays(
                [0, 1], pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
            )
        ),
    ),
    (
        "tensor",
        arrow(
            pa.ExtensionArray.from_storage(
                pa.fixed_shape_tensor(pa.int8(), [1]), pa.array([[1]], pa.list_(pa.int8(), 1))
            )
        ),
    ),
    (
        "unknown extension",
        pa.Table.from_arrays(
            [pa.array([1])],
            schema=pa.schema(
                [pa.field("c", pa.int64(), metadata={"ARROW:extension:name": "pandas.period"})]
            ),
        ),
    ),
    ("month interval", arrow(pa.array([(1, 2, 3)], pa.month_day_nano_interval()))),
    ("far days", {"c": np.array(["30000-01-01"], "M8[D]")}),
    ("far seconds", arrow(pa.array([2**62], pa.timestamp("s")))),
    (
        "far times in a list",
        arrow(pa.array([[2**62]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us")))),
    ),
    ("far scalar", [{"c": np.datetime64("30000-01-01")}]),
    ("farthest scalar", [{"c": np.datetime64(2**60, "Y")}]),
    ("part of a millisecond", arrow(pa.array([1], pa.timestamp("ns")))),
    ("picoseconds", {"c": np.array(["2024"], "M8[ps]")}),
    ("times with and without a zone", [{"c": NOON}, {"c": NOON.replace(tzinfo=UTC)}]),
    ("date and time", [{"c": date(2024, 1, 1)}, {"c": NOON}]),
    ("text and bytes", [{"c": "a"}, {"c": b"a"}]),
    ("float and bool", [{"c": 1.5}, {"c": True}]),
    ("int and bool", [{"c": 2}, {"c": True}]),
    ("float and Decimal", [{"c": 1.5}, {"c": Decimal(1)}]),
    ("large int and float", [{"c": 2**53 + 1}, {"c": 0.5}]),
    ("large int", [{"c": 2**70}]),
    ("kinds within a list", [{"c": [NOON]}, {"c": [date(2024, 1, 1)]}]),
    ("kinds within a dict", [{"c": {"a": NOON}}, {"c": {"a": NOON.replace(tzinfo=UTC)}}]),
    ("set", [{"c": {1, 2}}]),
]


@pytest.mark.parametrize("given", [each[1] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_types_that_would_change_are_refused_by_column(given: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"column c\b"):
        opened(given).read_all()


KEYED = pd.DataFrame({"k": ["x", "y", "x"], "j": [1, 1, 2], "v": [1, 2, 3]})
FRAMES: list[tuple[str, Callable[[], pd.DataFrame], list[str] | str]] = [
    ("a plain count", lambda: KEYED, ["k", "j", "v"]),
    ("numbers of rows", lambda: KEYED[KEYED.v > 1], ["k", "j", "v"]),
    ("numbers in another order", lambda: KEYED.sort_values("v", ascending=False), ["k", "j", "v"]),
    ("numbers twice", lambda: pd.concat([KEYED, KEYED]), ["k", "j", "v"]),
    ("a count from 5", lambda: KEYED.set_axis(pd.RangeIndex(5, 8)), ["k", "j", "v"]),
    ("years", lambda: KEYED.set_axis([2020, 2021, 2022]), ["k", "j", "v"]),
    (
        "years with a name",
        lambda: KEYED.set_axis([2020, 2021, 2022]).rename_axis("year"),
        ["year", "k", "j", "v"],
    ),
    ("no rows of texts", lambda: KEYED.set_index("k").rename_axis(None)[:0], ["j", "v"]),
    ("parts of numbers", lambda: KEYED.set_axis([0.5, 1.0, 2.0]), "its index"),
    ("truth", lambda: KEYED.set_axis([True, False, True]), "its index"),
    ("numbers as objects", lambda: KEYED.set_axis(pd.Index([1, 2, 3], dtype=object)), "its index"),
    ("a named index", lambda: KEYED.groupby("k").sum(), ["k", "j", "v"]),
    ("levels with names", lambda: KEYED.groupby(["k", "j"]).sum(), ["k", "j", "v"]),
    (
        "an index of days",
        lambda: KEYED.set_index(pd.Index([NOON] * 3, name="at")),
        ["at", "k", "j", "v"],
    ),
    ("texts without a name", lambda: pd.DataFrame({"v": [1]}, index=["x"]), "its index"),
    ("days without a name", lambda: pd.DataFrame({"v": [1]}, index=[NOON]), "its index"),
    (
        "a level without a name",
        lambda: KEYED.set_index(["k", "j"]).rename_axis(["k", None]),
        "level 1",
    ),
    ("a level named as a column", lambda: KEYED.set_index("k", drop=False), "got k twice"),
    ("two columns of one name", lambda: pd.DataFrame([[1, 2]], columns=["a", "A"]), "got A twice"),
    ("numbers as names", lambda: pd.DataFrame([[1, 2]]), "must be a text, got 0"),
    (
        "levels of names",
        lambda: pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", 1)])),
        "must be a text",
    ),
    ("an empty name", lambda: pd.DataFrame({"": [1]}), "must not be empty"),
]


@pytest.mark.parametrize(
    ("make", "wanted"), [frame[1:] for frame in FRAMES], ids=[frame[0] for frame in FRAMES]
)
def test_the_index_and_the_names_of_a_frame(
    make: Callable[[], pd.DataFrame], wanted: list[str] | str
) -> None:
    if isinstance(wanted, list):
        assert opened(make()).read_all().column_names == wanted
    else:
        with pytest.raises((TypeError, ValueError), match=wanted):
            opened(make())


NO_ROWS: list[Any] = [{"id": 1}, None, 5, pd.Series([1, 2]), pl.Series([1, 2]), [[1, "a"]], [5]]


@pytest.mark.parametrize("given", NO_ROWS, ids=lambda each: str(type(each)))
def test_what_is_no_rows_is_told_of_rows(lake: Ledger, given: Any) -> None:
    txn = lake.begin()
    verbs: list[Callable[[], object]] = [
        lambda: lake.append("db.t", given),
        lambda: lake.create_table("db.new", given),
        lambda: txn.insert("db.t", given),
    ]
    for verb in verbs:
        with pytest.raises(
            TypeError, match=r"(?is)rows.*(list of dicts|dict of lists)|made of rows"
        ):
            verb()
    txn.abort()
    assert lake.table("db.t").version == 0


def test_a_generator_of_dicts_is_rows(lake: Ledger) -> None:
    lake.append("db.t", ({"id": each} for each in (2, 3)))
    assert [each["id"] for each in rows_of(lake, "db.t")] == [1, 2, 3]
    assert lake.append("db.t", []).versions[lake.table("db.t").table] == 2
    assert len(rows_of(lake, "db.t")) == 3


def test_a_column_without_a_name_is_refused_by_every_way_to_make_one(lake: Ledger) -> None:
    empty = pa.table([[1]], names=[""])
    ways: list[Callable[[], object]] = [
        lambda: lake.create_table("db.new", [("", "int")]),
        lambda: lake.create_table("db.new", empty),
        lambda: lake.create_table("db.new", empty.schema),
        lambda: lake.append("db.t", empty, evolve=True),
        lambda: lake.alter_table("db.t", columns=[("id", "bigint"), ("", "int")]),
    ]
    for work in ways:
        with pytest.raises(ValueError, match="must not be empty"):
            work()
