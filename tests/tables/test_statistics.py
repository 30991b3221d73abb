"""Statistics of data files bound what is in them, in Delta's form."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.files.statistics import LEAVES_MAX, FileStatistics, high_text, low_text

NAN, INF = float("nan"), float("inf")


def statistics(*tables: Any) -> dict[str, Any]:
    found = FileStatistics(tables[0].schema)
    for table in tables:
        found.add(table)
    read: dict[str, Any] = json.loads(found.text, parse_float=Decimal)
    return read


BOUNDS: list[tuple[Any, Any, Any]] = [
    (pa.array([3, None, 1]), 1, 3),
    (pa.array([0.5, -0.0]), Decimal("0.0"), Decimal("0.5")),
    (pa.array([1.0, NAN]), Decimal("1.0"), None),
    (pa.array([NAN, None]), None, None),
    (pa.array([1.0, INF]), Decimal("1.0"), None),
    (pa.array([-INF, 1.0]), None, Decimal("1.0")),
    (pa.array([Decimal("1.10"), Decimal("-2.50")]), Decimal("-2.50"), Decimal("1.10")),
    (pa.array(["b", "ä", "a"]), "a", "ä"),
    (pa.array(["x" * 40]), "x" * 32, "x" * 32 + "\U0010ffff"),
    (pa.array([date(2024, 2, 29), date(1960, 1, 1)]), "1960-01-01", "2024-02-29"),
    (
        pa.array([datetime(2024, 1, 1, 1, 2, 3, 4005, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        "2024-01-01T01:02:03.004Z",
        "2024-01-01T01:02:03.005Z",
    ),
    (pa.array([-1], pa.timestamp("us")), "1969-12-31T23:59:59.999", "1970-01-01T00:00:00.000"),
    (pa.array([2**62], pa.timestamp("us")), None, None),
    (pa.array([True]), None, None),
    (pa.array([b"x"]), None, None),
    (pa.array([[1]]), None, None),
    (pa.nulls(2, pa.int64()), None, None),
]


@pytest.mark.parametrize(("array", "low", "high"), BOUNDS)
def test_a_bound_has_deltas_spelling_or_it_is_left_out(array: Any, low: Any, high: Any) -> None:
    found = statistics(pa.table({"x": array}))
    assert found["minValues"].get("x") == low
    assert found["maxValues"].get("x") == high
    assert found["nullCount"] == {"x": array.null_count}
    assert found["numRecords"] == len(array)


def test_fields_of_structs_are_counted() -> None:
    rows = pa.table({"s": [{"a": 1, "t": {"b": "x"}}, None, {"a": None, "t": None}]})
    assert statistics(rows) == {
        "numRecords": 3,
        "minValues": {"s": {"a": 1, "t": {"b": "x"}}},
        "maxValues": {"s": {"a": 1, "t": {"b": "x"}}},
        "nullCount": {"s": {"a": 2, "t": {"b": 2}}},
    }


def test_a_footer_says_of_each_leaf_what_its_rows_say_also_where_names_have_dots() -> None:
    rows = pa.table(
        {
            "a.b": [1, 2],
            "l": [[7, 8], [9]],
            "a": [{"b": 100, "c.d": {"e": "x"}}, {"b": 200, "c.d": {"e": "y"}}],
            "m.key": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "a.c.d.e": [True, True],
            "a.c": [{"d.e": 0.5}, {"d.e": 1.5}],
        }
    )
    file = pa.BufferOutputStream()
    pq.write_table(rows, file)
    found = FileStatistics(rows.schema)
    found.take(pq.read_metadata(pa.BufferReader(file.getvalue())))
    read, plain = json.loads(found.text, parse_float=Decimal), statistics(rows)
    for name in ("a.b", "a", "a.c"):
        assert read["minValues"][name] == plain["minValues"][name]
        assert read["maxValues"][name] == plain["maxValues"][name]


def test_the_statistics_are_those_of_all_batches_together() -> None:
    found = statistics(
        *(pa.table({"x": pa.array(each, pa.int64())}) for each in ([5], [None], [1, 9]))
    )
    assert (found["minValues"], found["maxValues"]) == ({"x": 1}, {"x": 9})
    assert found["nullCount"] == {"x": 1}


def test_wide_tables_have_statistics_for_their_first_columns_only() -> None:
    wide = pa.table({f"c{at}": [at] for at in range(40)})
    assert list(statistics(wide)["minValues"]) == [f"c{at}" for at in range(LEAVES_MAX)]


@given(st.text(max_size=80) | st.text(alphabet="\U0010ffffx", max_size=80))
@settings(max_examples=200, deadline=None)
def test_bounds_of_texts_are_bounds(text: str) -> None:
    """A cut text stays a bound in the order of code points, which is the order of UTF-8."""
    assert low_text(text) <= text
    high = high_text(text)
    assert high is None or text <= high
