"""Statistics of the log on their way to Iceberg: bounds and counts hold for all rows."""

import json
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual, IsNull, LessThanOrEqual, NotNull
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.manifest import DataFile as TheirFile

from ledger.core.commands import Column, Property, TableDefinition
from ledger.iceberg.manifests import ADDED, ManifestEntry
from ledger.iceberg.schemas import schema_json
from ledger.iceberg.statistics import FileMetrics, metrics_of, stats_of, text_above
from ledger.iceberg.values import packed
from tests.iceberg.formats.drawn_rows import (
    LEAVES,
    ROW,
    ROWS,
    SCHEMA,
    TABLE,
    TEXTS,
    THEIRS,
    check,
    own_stats,
    values,
)

COMPARISONS: Any = (EqualTo, GreaterThanOrEqual, LessThanOrEqual)
IS_NULL: Any = IsNull
NOT_NULL: Any = NotNull


@given(rows=ROWS)
@settings(deadline=None, max_examples=120)
def test_bounds_of_the_ledgers_files_hold(rows: list[dict[str, Any]]) -> None:
    stats, _ = own_stats(rows)
    metrics = metrics_of(stats, TABLE, SCHEMA, is_other=False)

    check(metrics, rows)
    for number in (1, 2, 5, 6, 7, 8, 9, 13, 14):
        found = [each for each in values(rows, number) if each is not None]
        assert (number in metrics.lower_bounds) is bool(found)
        assert number not in metrics.null_value_counts or number in metrics.value_counts


@given(rows=ROWS, cut=st.integers(1, 40))
@settings(deadline=None, max_examples=120)
def test_bounds_of_other_writers_hold(rows: list[dict[str, Any]], cut: int) -> None:
    """They cut texts anywhere, pass decimals through doubles, and drop digits of times."""
    sides: tuple[dict[str, Any], ...] = ({}, {})
    for number in (1, 2, 4, 5, 6, 7, 8, 9):
        name = LEAVES[number][0]
        found = [each for each in values(rows, number) if each is not None]
        if not found or any(isinstance(each, float) and not math.isfinite(each) for each in found):
            continue
        ends = (min(found), max(found))
        if name == "s":
            # Writers that order by halves of letters are another matter, which the ledger knows.
            if any(letter >= "\ud800" for each in found for letter in each):
                continue
            ends = (ends[0][:cut], ends[1][:cut])
        for side, end in zip(sides, ends, strict=True):
            shown = float(end) if isinstance(end, Decimal) else end
            if isinstance(end, datetime):
                shown = end.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            side[name] = shown.isoformat() if isinstance(shown, date) else shown
    lows, highs = sides
    stats = {"numRecords": len(rows), "minValues": lows, "maxValues": highs, "nullCount": {}}
    check(metrics_of(json.dumps(stats), TABLE, SCHEMA, is_other=True), rows)


@given(rows=st.lists(ROW, min_size=1, max_size=5))
@settings(deadline=None, max_examples=60)
def test_another_reader_finds_each_row_by_its_values(rows: list[dict[str, Any]]) -> None:
    stats, _ = own_stats(rows)
    metrics = metrics_of(stats, TABLE, SCHEMA, is_other=False)
    file = TheirFile.from_args(
        file_path="/t/a",
        record_count=metrics.record_count,
        value_counts=dict(metrics.value_counts),
        null_value_counts=dict(metrics.null_value_counts),
        nan_value_counts={},
        lower_bounds=dict(metrics.lower_bounds),
        upper_bounds=dict(metrics.upper_bounds),
    )
    for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14):
        name = LEAVES[number][0] if number in LEAVES else f"place.{'x' if number == 13 else 't'}"
        for value in values(rows, number):
            wanted: list[Any] = [IS_NULL(name)] if value is None else [NOT_NULL(name)]
            # They take an infinite literal for one beyond FLOAT.
            if value is not None and not (isinstance(value, float) and not math.isfinite(value)):
                shown = value.isoformat() if isinstance(value, date) else value
                wanted += [each(name, shown) for each in COMPARISONS]
            for condition in wanted:
                assert _InclusiveMetricsEvaluator(THEIRS, condition).eval(file), condition


@pytest.mark.parametrize(
    "stats", ["", "{", "[]", "5", '{"numRecords":-1}', '{"numRecords":"5"}', '{"minValues":[]}']
)
def test_odd_statistics_say_nothing(stats: str) -> None:
    assert metrics_of(stats, TABLE, SCHEMA, is_other=True) == FileMetrics(None, {}, {}, {}, {})


def test_odd_parts_of_statistics_are_left_out() -> None:
    stats = {
        "numRecords": 5,
        "minValues": {"i": "x", "l": 2**70, "s": 5, "day": "soon", "place": 7, "tz": "2026-01-01"},
        "maxValues": "all",
        "nullCount": {"i": 6, "l": True, "s": 2, "place": {"x": -1, "t": 0}},
    }
    found = metrics_of(json.dumps(stats), TABLE, SCHEMA, is_other=False)
    assert found == FileMetrics(5, {6: 5, 14: 5}, {6: 2, 14: 0}, {}, {})


def test_loose_counts_of_others_say_none_or_all() -> None:
    stats = {"numRecords": 5, "tightBounds": False, "nullCount": {"i": 0, "l": 5, "s": 2}}
    text = json.dumps(stats)

    assert metrics_of(text, TABLE, SCHEMA, is_other=True).null_value_counts == {1: 0, 2: 5}
    own = metrics_of(text, TABLE, SCHEMA, is_other=False)
    assert own.null_value_counts == {1: 0, 2: 5, 6: 2}


def test_columns_are_known_by_the_names_that_files_have() -> None:
    """A renamed column keeps its name in files; a bound under its new name is another column's."""
    fields = json.dumps({"lakeledger.fields": {"y": {"id": 3, "file": "x"}}})
    called = json.dumps({"delta.columnMapping.physicalName": "a"})
    columns = [
        Column("b", "int", nullable=True, id=1, metadata=called),
        Column("s", "struct<y:int>", nullable=True, id=2, metadata=fields),
    ]
    mapping = [Property("delta.columnMapping.mode", "name")]
    table = TableDefinition("managed", "listed", "/t", columns, [], mapping)
    schema = schema_json(table, 0)
    stats = {"numRecords": 2, "minValues": {"a": 1, "b": 5, "s": {"x": 7, "y": 9}}, "maxValues": {}}
    found = metrics_of(json.dumps(stats), table, schema, is_other=False)

    assert found.lower_bounds == {1: packed(1, "int"), 3: packed(7, "int")}
    entry_ = ManifestEntry(ADDED, 1, 1, 1, "/t/a", 2, 1, lower_bounds=found.lower_bounds)
    assert json.loads(stats_of(entry_, table))["minValues"] == {"a": 1, "s": {"x": 7}}


def test_a_name_that_two_columns_may_mean_has_no_bounds() -> None:
    columns = [Column(name, "int", nullable=True, id=at) for at, name in ((1, "a"), (2, "a.b"))]
    table = TableDefinition("managed", "listed", "/t", columns, [], [])
    stats = {"numRecords": 2, "minValues": {"a": 1, "a.b": 5}, "maxValues": {}, "nullCount": {}}
    found = metrics_of(json.dumps(stats), table, schema_json(table, 0), is_other=False)
    assert found.lower_bounds == {2: packed(5, "int")}


@pytest.mark.parametrize(
    ("before", "now", "value", "wanted"),
    [
        ("int", "bigint", 7, packed(7, "long")),
        ("float", "double", 0.5, packed(0.5, "double")),
        ("decimal(5,2)", "decimal(9,2)", 1.25, packed("1.25", "decimal(9, 2)")),
        ("date", "timestamp_ntz", "2026-01-01", None),
        ("int", "string", 7, None),
        ("tinyint", "int", 7, packed(7, "int")),
    ],
)
def test_bounds_have_the_type_that_a_column_has_now(
    before: str, now: str, value: Any, wanted: bytes | None
) -> None:
    then, later = (
        TABLE._replace(columns=[Column("c", kind, nullable=True, id=1)]) for kind in (before, now)
    )
    stats = {"numRecords": 2, "minValues": {"c": value}, "maxValues": {}, "nullCount": {"c": 0}}
    found = metrics_of(json.dumps(stats), then, schema_json(later, 0), is_other=False)
    assert found.lower_bounds.get(1) == wanted
    assert found.null_value_counts == {1: 0}


@given(text=TEXTS, more=TEXTS)
def test_a_text_above_is_above_all_that_begin_alike(text: str, more: str) -> None:
    above = text_above(text)
    assert above is None or (text + more).encode() < above.encode()
    assert above is not None or not text.strip("\U0010ffff")


def test_zeros_are_bounds_of_both_zeros() -> None:
    stats = {
        "numRecords": 1,
        "minValues": {"d": 0.0, "f": 0.0},
        "maxValues": {"d": -0.0, "f": -0.0},
    }
    found = metrics_of(json.dumps(stats), TABLE, SCHEMA, is_other=False)
    assert found.lower_bounds == {3: packed(-0.0, "float"), 4: packed(-0.0, "double")}
    assert found.upper_bounds == {3: packed(0.0, "float"), 4: packed(0.0, "double")}
