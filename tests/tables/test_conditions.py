"""Conditions on rows: Spark SQL in ANSI mode, evaluated by DuckDB."""

import time
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.types import arrow_type
from ledger.core.predicates.functions import like_matches, like_tokens
from ledger.errors import UnknownColumnError
from ledger.expressions.build import Expression, col
from ledger.expressions.duckdb.evaluation import RowValueError, duck
from ledger.expressions.parse import PredicateSyntaxError
from tests.conditions import failures_named, row_condition, row_expression

TYPES = {
    "a": "int",
    "s": "string",
    "d": "date",
    "t": "timestamp",
    "x": "double",
    "f": "struct<n:bigint>",
    "m": "decimal(5,2)",
    "b": "boolean",
    "c": "struct<k:char(3)>",
}
SECONDS_MAX = 20.0
SCHEMA = TableSchema(
    tuple(
        TableColumn(name, arrow_type(kind), nullable=True, id=at, physical=name, declared=kind)
        for at, (name, kind) in enumerate(TYPES.items(), 1)
    ),
    (),
    name="db.t",
)
ROWS = pa.Table.from_pylist(
    [
        {
            "a": 1,
            "s": "x",
            "d": date(2024, 1, 1),
            "t": datetime(2024, 1, 1, 23, tzinfo=UTC),
            "x": 1.5,
            "f": {"n": 1},
            "m": Decimal("1.50"),
            "b": True,
            "c": {"k": "q"},
        },
        {
            "a": -3,
            "s": "12",
            "d": date(2024, 2, 29),
            "t": datetime(1969, 12, 31, tzinfo=UTC),
            "x": float("nan"),
            "f": None,
            "m": Decimal("-2.25"),
            "b": False,
            "c": {"k": "q"},
        },
        dict.fromkeys(TYPES),
    ],
    schema=SCHEMA.arrow,
)
T, F, N = True, False, None


def evaluated(sql: str, rows: pa.Table = ROWS) -> list[Any]:
    with duck() as connection:
        connection.register("rows", rows)
        found = connection.sql(f"SELECT {sql} FROM rows").fetchall()  # noqa: S608 - of the test
        return [value for (value,) in found]


CONDITIONS: list[tuple[str | Expression, list[bool | None]]] = [
    ("a = 1", [T, F, N]),
    ("a = '1'", [T, F, N]),
    ("A <> 0 AND 3 / a > 0.5", [T, F, N]),
    ("a = 0 OR a IS NULL OR 1 / a > 0", [T, F, T]),
    ("not a = 1", [F, T, N]),
    ("a in (1, null)", [T, N, N]),
    ("a not in (1)", [F, T, N]),
    ("a is not null", [T, T, F]),
    ("a <=> null", [F, F, T]),
    ("a between -3 and 0", [F, T, N]),
    ("a % 2 = -1", [F, T, N]),
    ("a div 2 = -1", [F, T, N]),
    ("a / 2 = 0.5", [T, F, N]),
    ("b is true", [T, F, F]),
    ("b is not false", [T, F, T]),
    ("s like 'x%'", [T, F, N]),
    ("s not like '_'", [F, T, N]),
    ("upper(s) = 'X'", [T, F, N]),
    ("substring(s, -1, 1) = '2'", [F, T, N]),
    ("substring(s, 0, 1) = 'x'", [T, F, N]),
    ("length(s) = 2", [F, T, N]),
    ("concat(s, 'z') = 'xz'", [T, F, N]),
    ("s || a = 'x1'", [T, F, N]),
    ("year(d) = 2024 and month(d) = 2", [F, T, N]),
    ("dayofweek(d) = 2", [T, F, N]),
    ("date_add(d, 1) = '2024-03-01'", [F, T, N]),
    ("datediff(d, '2023-12-31') = 1", [T, F, N]),
    ("d < DATE '2024-02-01'", [T, F, N]),
    ("t > '2024-01-01'", [T, F, N]),
    ("t = TIMESTAMP '2024-01-01 23:00:00Z'", [T, F, N]),
    ("cast(t as date) = '2024-01-01'", [T, F, N]),
    ("hour(t) = 23", [T, F, N]),
    ("isnan(x)", [F, T, F]),
    ("x > 1e300", [F, T, N]),
    ("x = double('NaN')", [F, T, N]),
    ("f.n = 1", [T, N, N]),
    ("m * 2 = 3.0", [T, F, N]),
    ("m + a > 1", [T, F, N]),
    ("cast(m as int) = -2", [F, T, N]),
    ("cast(m as decimal(3,0)) = 2", [T, F, N]),
    ("coalesce(a, 5) = 5", [F, F, T]),
    ("nullif(a, 1) is null", [T, F, T]),
    ("case when a = 1 then 'q' else s end = 'q'", [T, F, N]),
    ("case a when 1 then true end", [T, N, N]),
    ("if(a = 1, true, false)", [T, F, F]),
    ("greatest(a, 0) = 0", [F, T, T]),
    (col("a") == 1, [T, F, N]),
    ((col("a") > 0) | ~col("s").is_null(), [T, T, N]),
    (col("d").isin(date(2024, 1, 1)), [T, F, N]),
    (col("m").eq_null_safe(None), [F, F, T]),
]


@pytest.mark.parametrize(("where", "wanted"), CONDITIONS)
def test_conditions(where: str | Expression, wanted: list[bool | None]) -> None:
    """A condition has Spark's value for each row, NULL too."""
    assert evaluated(row_condition(where, SCHEMA).sql) == wanted


def test_none_is_true_for_every_row_and_reads_no_column() -> None:
    assert row_condition(None, SCHEMA) == ("TRUE", ())


def test_the_columns_are_named_as_the_table_spells_them() -> None:
    assert row_condition("A = 1 and F.N > 0 and a < 5", SCHEMA).columns == ("a", "f")


def test_a_time_zone_counts() -> None:
    assert evaluated(row_condition("hour(t) = 0", SCHEMA, "Europe/Berlin").sql) == [T, F, N]
    assert evaluated(row_condition("t < '2024-01-02'", SCHEMA, "-01:00").sql) == [T, T, N]
    other = (col("t") < datetime(2024, 1, 2)).in_zone("+02:00")  # noqa: DTZ001 - local time
    with pytest.raises(PredicateSyntaxError, match="Europe/Berlin"):
        row_condition("d = t", SCHEMA, "Europe/Berlin")
    assert evaluated(row_condition(other, SCHEMA).sql) == [F, T, N]


@pytest.mark.parametrize(
    "where",
    ["1 / (a - 1) > 0", "a % (a - 1) = 0", "cast(s as int) = 12", "a + 2147483647 > 0", "d = s"],
)
def test_what_fails_in_spark_fails(where: str) -> None:
    with pytest.raises(RowValueError, match="fails for a row"), failures_named(where):
        evaluated(row_condition(where, SCHEMA).sql)


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("try_cast(s as int) = 1", "TRY_CAST"),
        ("rand() > 0.5", "RAND"),
        ("s rlike 'x'", "RLIKE"),
        ("a in (select 1)", "SELECT"),
        ("current_date() = d", "CURRENT_DATE"),
        ("m / 2 > 1", r"DECIMAL\(5,2\) / INT"),
        ("cast(x as string) = '1'", "DOUBLE AS STRING"),
        ("my_function(a) = 1", "my_function"),
        ("f = f", "STRUCT"),
        ("c.k = 'q'", r"char\(3\)"),
        ("a", "BOOLEAN"),
        ("a = true", "BOOLEAN"),
        ("d = 'soon'", "soon"),
        ("s.x = 1", "x"),
        ("round(x) = 1", "ROUND"),
        ("d + interval 1 day = d", "INTERVAL"),
        ("a = ", "operand"),
    ],
)
def test_what_could_differ_is_refused(where: str, named: str) -> None:
    with pytest.raises(PredicateSyntaxError, match=named):
        row_condition(where, SCHEMA)


NESTED = {
    "brackets": "(" * 500 + "a = 1" + ")" * 500,
    "NOT": "NOT " * 3000 + "a = 1",
    "signs": "- " * 3000 + "a = 1",
    "CASE": "CASE WHEN a = 1 THEN " * 300 + "TRUE" + " END" * 300,
    "functions": "abs(" * 300 + "a" + ")" * 300 + " = 1",
    "casts": "a" + "::int" * 5000 + " = 1",
    "a sum": "+".join(["a"] * 20_000) + " = 1",
    "quotients, which repeat their parts": "a" + "/1" * 60 + " = 1",
    "small letters, which repeat their parts": "lower(" * 15 + "s" + ")" * 15 + " = 'x'",
    "fields": "f" + ".n" * 3000 + " = 1",
    "tests": "a" + " IS NULL" * 3000,
    "20,000 times OR": " OR ".join(f"a = {each}" for each in range(20_000)),
    "wildcards": f"s LIKE '{'%_' * 5000}'",
    "a list of 100,000": col("a").isin(*range(100_000)),
    "nested expressions": reduce(lambda inner, _: ~inner.is_null(), range(5000), col("a") == 1),
}


@pytest.mark.parametrize("where", NESTED.values(), ids=NESTED)
def test_what_is_too_large_or_deep_is_refused(where: str | Expression) -> None:
    with pytest.raises(PredicateSyntaxError, match=r"too large|at most|not supported|nested"):
        row_condition(where, SCHEMA)


WIDE = {
    "OR": " OR ".join(f"m = {each}" for each in range(2000)),
    "AND": " AND ".join(f"1 / a <> {each}" for each in range(10, 90)),
    "a list": f"a IN ({','.join(map(str, range(5000)))})",
    "LIKE": f"NOT s LIKE '{'%_' * 30}x'",
}


@pytest.mark.parametrize("where", WIDE.values(), ids=WIDE)
def test_wide_conditions_are_judged_in_time(where: str) -> None:
    rows = ROWS.slice(0, 1).set_column(1, "s", pa.array(["a" * 40]))
    before = time.monotonic()
    evaluated(row_condition(where, SCHEMA).sql, rows)
    assert time.monotonic() - before < SECONDS_MAX


LIKE_TEXTS = [
    "",
    "ab",
    "a\nb",
    "a%b",
    "a_b",
    "xxabyy",
    "\U0001f600ab",
    "a\\b",
    "a.b",
    "(a)b*",
    "aab",
]
LIKE_FORMS = ["%a%b%", "%ab%", "%_%", "%a_b%", "a%%b", "%.%b%", "%(a)%*", "%\\%%b%", "%_a%_%", "%%"]


@pytest.mark.parametrize("form", LIKE_FORMS)
def test_a_pattern_matches_what_it_matches_for_the_core(form: str) -> None:
    rows = pa.table({"s": LIKE_TEXTS})
    escaped = form.replace("\\", "\\\\").replace("\\\\%", "\\%")
    tokens = like_tokens(form)
    found = evaluated(row_condition(f"s LIKE '{escaped}'", SCHEMA).sql, rows)
    assert found == [like_matches(text, tokens) for text in LIKE_TEXTS]


@pytest.mark.parametrize("where", ["aa = 1", col("aa") == 1])
def test_an_unknown_column_names_the_nearest(where: str | Expression) -> None:
    with pytest.raises(UnknownColumnError, match=r"db\.t has no column aa, did you mean a"):
        row_condition(where, SCHEMA)


@pytest.mark.parametrize("where", [5, b"a = 1", ["a = 1"]])
def test_other_values_are_no_condition(where: Any) -> None:
    with pytest.raises(TypeError, match="a condition must be a text"):
        row_condition(where, SCHEMA)


@pytest.mark.parametrize(
    ("text", "type_", "wanted"),
    [
        ("a + 1", "int", [2, -2, N]),
        ("a + 1", "bigint", [2, -2, N]),
        ("a * 1.5", "decimal(13,1)", [Decimal("1.5"), Decimal("-4.5"), N]),
        ("x", "double", [1.5, pytest.approx(float("nan"), nan_ok=True), N]),
        ("'2024-01-01'", "date", [date(2024, 1, 1)] * 3),
        ("NULL", "string", [N, N, N]),
        ("m", "int", [1, -2, N]),
        ("d", "string", ["2024-01-01", "2024-02-29", N]),
    ],
)
def test_expressions(text: str, type_: str, wanted: list[Any]) -> None:
    """A value is computed, and cast to the type of its column."""
    found = row_expression(text, SCHEMA, target=arrow_type(type_))
    assert found.type == arrow_type(type_)
    assert evaluated(found.sql) == wanted


def test_columns_of_two_tables_are_qualified() -> None:
    both = {"source": SCHEMA, "target": SCHEMA}
    found = row_condition("source.a = target.a and target.f.n > 0", both)
    assert found.columns == ("source.a", "target.a", "target.f")
    assert '"source"."a"' in found.sql
    with pytest.raises(UnknownColumnError, match=r"source\.a"):
        row_condition("a = 1", both)
