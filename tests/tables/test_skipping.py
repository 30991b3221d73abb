"""Files and row groups that are left out: never one that holds a row of the condition."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.expressions.bounds import may_hold
from ledger.expressions.column_bounds import group_bounds, stats_bounds
from ledger.expressions.duckdb.evaluation import duck
from ledger.files.file_writers import FileWriter
from ledger.files.statistics import FileStatistics
from tests.conditions import row_condition, tree_of
from tests.tables.files import column, file_row, schema_of

OWN = f"{FileWriter.of('ledger', 1).drawn()}-0.parquet"

MOMENT = datetime(2024, 2, 29, 12, 0, 0, 999999)  # noqa: DTZ001 - a local time
VALUES: dict[str, tuple[str, list[Any], list[str]]] = {
    "i": ("int", [-5, 0, 1, 2, 2147483647], ["-5", "0", "1", "3", "1.5", "'1'", "1e0"]),
    "g": ("bigint", [9007199254740993, 1, -1], ["9007199254740992", "9007199254740992e0", "0"]),
    "x": (
        "double",
        [-1.5, -0.0, 0.0, 2.5, math.nan, math.inf, -math.inf],
        ["0", "-1.5", "2.5", "3e0", "1e400", "'NaN'"],
    ),
    "f": ("float", [0.1, -2.5, math.nan], ["0.1", "-2.5", "1", "0.1e0"]),
    "s": (
        "string",
        ["", "a", "ab", "b" * 40, "b" * 31 + "\U0001f600x", "\uffffz"],
        ["'a'", "'aa'", f"'{'b' * 32}'", f"'{'b' * 40}c'", "'\uffff'", "''"],
    ),
    "d": ("date", [date(2024, 1, 1), date(1969, 12, 31)], ["'2024-01-01'", "DATE'2024-01-02'"]),
    "t": (
        "timestamp",
        [MOMENT.replace(tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)],
        ["'2024-02-29 12:00:00.999999'", "'2024-02-29 12:00:00.999'", "DATE'2024-01-01'"],
    ),
    "n": ("timestamp_ntz", [MOMENT], ["'2024-02-29 12:00:00.999999'", "DATE'2024-02-29'"]),
    "m": ("decimal(5,2)", [Decimal("1.25"), Decimal("-9.99")], ["1.25", "1", "-10", "1.2e0"]),
    "b": ("boolean", [True, False], ["true", "false"]),
}
SCHEMA = schema_of(
    *(column(name, kind, at) for at, (name, (kind, *_)) in enumerate(VALUES.items(), 1))
)
LEAVES = {name: at for at, name in enumerate(VALUES)}
OPERATORS = ("=", "<", "<=", ">", ">=", "<>", "<=>")


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    """Return a test of one column."""
    name = draw(st.sampled_from(list(VALUES)))
    literals = st.sampled_from([*VALUES[name][2], "NULL"])
    form = draw(st.sampled_from(["left", "right", "in", "null", "between"]))
    if form == "null":
        return f"{name} is {draw(st.sampled_from(['', 'not ']))}null"
    if form == "in":
        return f"{name} in ({', '.join(draw(st.lists(literals, min_size=1, max_size=3)))})"
    if form == "between":
        return f"{name} between {draw(literals)} and {draw(literals)}"
    sign, literal = draw(st.sampled_from(OPERATORS)), draw(literals)
    return f"{name} {sign} {literal}" if form == "left" else f"{literal} {sign} {name}"


conditions = st.recursive(
    comparisons(),
    lambda inner: st.one_of(
        inner.map("not ({})".format),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda three: f"(({three[0]}) {three[1]} ({three[2]}))"
        ),
    ),
    max_leaves=4,
)
rows = st.lists(
    st.fixed_dictionaries(
        {name: st.sampled_from([*each[1], None]) for name, each in VALUES.items()}
    ),
    min_size=1,
    max_size=3,
)


def holds(table: pa.Table, where: str) -> bool:
    """Return whether a row fulfils a condition, as DuckDB evaluates it."""
    sql = row_condition(where, SCHEMA).sql
    with duck() as connection:
        connection.register("rows", table)
        found = connection.sql(f"SELECT count(*) FROM rows WHERE {sql}").fetchone()  # noqa: S608
    return found is not None and bool(found[0])


@settings(max_examples=300, deadline=None)
@given(rows, conditions)
def test_no_row_is_lost(data: list[dict[str, Any]], where: str) -> None:
    table = pa.Table.from_pylist(data, schema=SCHEMA.arrow)
    statistics = FileStatistics(SCHEMA.stored)
    statistics.add(table)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
    tree = tree_of(where)
    judged = (
        may_hold(tree, stats_bounds(file_row(OWN, stats=statistics.text), SCHEMA, SCHEMA)),
        may_hold(tree, group_bounds(group, LEAVES, SCHEMA, is_other=False)),
    )
    if not all(judged):
        assert not holds(table, where), judged


STATS = {
    "numRecords": 3,
    "minValues": {"i": 1, "s": "b", "d": "2024-01-01", "t": "2024-01-01T00:00:00.000Z", "x": 1.5},
    "maxValues": {"i": 9, "s": "d", "d": "2024-01-31", "t": "2024-01-31T23:59:59.999Z", "x": 2.5},
    "nullCount": {"i": 0, "s": 1, "d": 0, "t": 0, "x": 0, "b": 3},
}


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("i = 0", False),
        ("i = 5", True),
        ("i > 9", False),
        ("i >= 9", True),
        ("i < 1", False),
        ("10 < i", False),
        ("i in (0, 10)", False),
        ("i is null", False),
        ("i is not null", True),
        ("i <=> null", False),
        ("i = null", False),
        ("not (i > 0)", False),
        ("i between 10 and 20", False),
        ("i > 9 or s = 'c'", True),
        ("i > 9 and length(s) = 1", False),
        ("s = 'a'", False),
        ("s > 'd'", False),
        ("s is null", True),
        ("d = '2024-02-01'", False),
        ("t > '2024-02-01'", False),
        ("t >= '2024-01-31 23:59:59.999999'", True),
        ("x < 1", False),
        ("x > 100", True),
        ("x = 100", False),
        ("b is not null", False),
        ("b = true", False),
        ("b is null", True),
        ("m = 1", True),
        ("length(s) > 99", True),
        ("i + 1 > 99", True),
        ("false", False),
        ("null", False),
    ],
)
def test_statistics_exclude_what_they_can(where: str, wanted: bool) -> None:  # noqa: FBT001
    file = file_row(OWN, stats=json.dumps(STATS))
    assert may_hold(tree_of(where), stats_bounds(file, SCHEMA, SCHEMA)) is wanted


@pytest.mark.parametrize(
    "stats",
    ["", "no json", "[]", "5", '{"minValues":5}', '{"minValues":{"i":"x"},"maxValues":{"i":[]}}'],
)
def test_odd_statistics_exclude_nothing(stats: str) -> None:
    """What is not understood may hold anything."""
    for where in ("i = 5", "i is null", "i is not null", "not (i = 5)"):
        bounds = stats_bounds(file_row(OWN, stats=stats), SCHEMA, SCHEMA)
        assert may_hold(tree_of(where), bounds)


def test_statistics_of_a_former_column_of_the_name_do_not_count() -> None:
    then = schema_of(column("i", "int", 99), column("s", "string", 5))
    file = file_row(OWN, stats=json.dumps(STATS))
    for where in ("i is null", "i = 100"):
        assert may_hold(tree_of(where), stats_bounds(file, SCHEMA, then))
    renamed = schema_of(column("label", "string", 5))
    assert not may_hold(tree_of("label = 'a'"), stats_bounds(file, renamed, then))


@pytest.mark.parametrize(
    ("name", "struct"),
    [("a.b", "a"), ("a.b.c", "a.b"), ("a.b.c", "a"), ("a..b", "a."), ("a.b", "A")],
)
def test_statistics_of_a_field_do_not_count_for_a_dotted_name(name: str, struct: str) -> None:
    """Some writers take the bounds of a field `b` of `a` for those of a column `a.b`."""
    stats = json.dumps({"numRecords": 1, "minValues": {name: 100}, "maxValues": {name: 100}})
    file = file_row(OWN, stats=stats)
    beside = schema_of(column(name, "int", 1), column(struct, "struct<b:int>", 2))
    alone = schema_of(column(name, "int", 1))
    tree = tree_of(f"`{name}` = 1")
    assert may_hold(tree, stats_bounds(file, beside, beside))
    assert not may_hold(tree, stats_bounds(file, alone, alone))
