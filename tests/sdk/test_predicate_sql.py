"""Conditions as programs write them, Spark SQL or expressions, and the wire form they take."""

import json
import math
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.dialects.spark import Spark

from ledger.core.limits import PREDICATE_CHARS_MAX
from ledger.core.predicates.predicates import TRUE_PREDICATE, compile_predicate
from ledger.core.predicates.sql_text import WORDS, sql_of
from ledger.errors import LedgerError
from ledger.expressions.build import Expression, col, lit
from ledger.expressions.parse import PredicateSyntaxError
from tests.conditions import predicate_tree
from tests.conditions import wire_of as tree_of
from tests.core.predicate_trees import SCHEMA, condition, row

laws = settings(deadline=None)
A, B = ["col", "a"], ["col", "b"]
ONE, TWO = ["lit", "1", "int"], ["lit", "2", "int"]
A1, B2 = ["=", A, ONE], ["=", B, TWO]


def text(value: str) -> list[str]:
    return ["lit", value, "string"]


UNDERSTOOD: list[tuple[str, Any]] = [
    ("a = 1", A1),
    ("a == 1", A1),
    ("`a` = 1", A1),
    ("`a b` = 1", ["=", ["col", "a b"], ONE]),
    ("date > '2010-01-01'", [">", ["col", "date"], text("2010-01-01")]),
    ("a != 1", ["<>", A, ONE]),
    ("a <=> NULL", ["<=>", A, ["lit", None, "void"]]),
    ("a IS DISTINCT FROM 1", ["not", ["<=>", A, ONE]]),
    ("a = 1 AND (b = 2 AND a = 1)", ["and", A1, B2]),
    ("a = 1 AND TRUE", A1),
    ("a = 1 OR FALSE", A1),
    ("TRUE", json.loads(TRUE_PREDICATE)),
    ("TRUE AND TRUE", json.loads(TRUE_PREDICATE)),
    ("a = 1 OR b = 2 AND a = 1", ["or", A1, ["and", B2, A1]]),
    ("NOT a = 1", ["not", A1]),
    ("! a = 1", ["not", A1]),
    ("NOT NOT a = 1", A1),
    ("a IS NULL", ["is_null", A]),
    ("a IS NOT NULL", ["not", ["is_null", A]]),
    ("a IS TRUE", ["<=>", A, ["lit", "true", "boolean"]]),
    ("a = 1 IS NULL", ["is_null", A1]),
    ("a BETWEEN 1 AND 2", ["and", [">=", A, ONE], ["<=", A, TWO]]),
    ("a NOT BETWEEN 1 AND 2", ["not", ["and", [">=", A, ONE], ["<=", A, TWO]]]),
    ("a IN (1, 2)", ["in", A, [ONE, TWO]]),
    ("a NOT IN (1, NULL)", ["not", ["in", A, [ONE, ["lit", None, "void"]]]]),
    ("a LIKE 'x%'", ["like", A, text("x%")]),
    ("a NOT LIKE 'x%'", ["not", ["like", A, text("x%")]]),
    (r"a LIKE 'x\_%'", ["like", A, text(r"x\_%")]),
    (r"a = 'it\'s'", ["=", A, text("it's")]),
    ('a = "it\'s"', ["=", A, text("it's")]),
    ("a = -1", ["=", A, ["lit", "-1", "int"]]),
    ("a = 2147483648", ["=", A, ["lit", "2147483648", "bigint"]]),
    ("a = -9223372036854775808", ["=", A, ["lit", "-9223372036854775808", "bigint"]]),
    ("a = 9223372036854775808", ["=", A, ["lit", "9223372036854775808", "decimal(19,0)"]]),
    ("a = 1.50", ["=", A, ["lit", "1.50", "decimal(3,2)"]]),
    ("a = 0.05", ["=", A, ["lit", "0.05", "decimal(2,2)"]]),
    ("a = 1e3", ["=", A, ["lit", "1e3", "double"]]),
    ("a = 1L", ["=", A, ["cast", ONE, "bigint"]]),
    ("a = 1.5BD", ["=", A, ["lit", "1.5", "decimal(2,1)"]]),
    ("a = DATE '2024-01-31'", ["=", A, ["lit", "2024-01-31", "date"]]),
    ("a = TIMESTAMP '2024-01-31 00:00:00'", ["=", A, ["lit", "2024-01-31 00:00:00", "timestamp"]]),
    ("CAST(NULL AS BOOLEAN)", ["lit", None, "boolean"]),
    ("CAST(a AS DECIMAL(5, 2)) = 1", ["=", ["cast", A, "decimal(5,2)"], ONE]),
    ("a::int = 1", ["=", ["cast", A, "int"], ONE]),
    ("coalesce(a, 1) = 1", ["=", ["call", "coalesce", A, ONE], ONE]),
    ("nvl(a, 1) = 1", ["=", ["call", "coalesce", A, ONE], ONE]),
    ("year(a) = 1", ["=", ["call", "year", ["cast", A, "date"]], ONE]),
    ("to_date(a) = b", ["=", ["cast", A, "date"], B]),
    ("substring(a, 1, 2) = b", ["=", ["call", "substring", A, ONE, TWO], B]),
    ("a % 2 = 1", ["=", ["%", A, TWO], ONE]),
    ("-a = 1", ["=", ["neg", A], ONE]),
    ("a = -(-1)", ["=", A, ["neg", ["lit", "-1", "int"]]]),
    ("a = - -1", ["=", A, ["neg", ["lit", "-1", "int"]]]),
    ("a = -(1)", ["=", A, ["neg", ONE]]),
    ("a + 1 * 2 = 1", ["=", ["+", A, ["*", ONE, TWO]], ONE]),
    ("a = 1 -- the first", A1),
]


@pytest.mark.parametrize(("sql", "tree"), UNDERSTOOD)
def test_spark_sql_becomes_a_normalised_tree_in_one_compact_text(sql: str, tree: Any) -> None:
    assert predicate_tree(sql) == json.dumps(tree, separators=(",", ":"))


@pytest.mark.parametrize("sql", [sql for sql, _ in UNDERSTOOD if "year" not in sql])
def test_trees_are_shown_as_the_same_condition(sql: str) -> None:
    assert predicate_tree(sql_of(predicate_tree(sql))) == predicate_tree(sql)


UNKNOWN: list[tuple[str, Any]] = [
    ("rand() > 0.5", [">", ["unknown", "RAND()", []], ["lit", "0.5", "decimal(1,1)"]]),
    ("a = 1 AND f(b, a) = 2", ["and", A1, ["=", ["unknown", "F(b, a)", ["a", "b"]], TWO]]),
    ("t.a = 1", ["=", ["unknown", "t.a"], ONE]),
    ("a IN (SELECT 1)", ["unknown", "a IN (SELECT 1)"]),
    ("EXISTS (SELECT 1)", ["unknown", "EXISTS(SELECT 1)"]),
    ("try_cast(a AS INT) = 1", ["=", ["unknown", "TRY_CAST(a AS INT)", ["a"]], ONE]),
    ("a[0] = 1", ["=", ["unknown", "a[0]", ["a"]], ONE]),
    ("a = :p", ["=", A, ["unknown", ":p", []]]),
    ("a = b < 1", ["unknown", "a = b < 1", ["a", "b"]]),
    ("a RLIKE 'x'", ["unknown", "a RLIKE 'x'", ["a"]]),
    ("a LIKE 'x!_' ESCAPE '!'", ["unknown", "a LIKE 'x!_' ESCAPE '!'", ["a"]]),
    ("a BETWEEN SYMMETRIC 2 AND 1 AND b = 2", None),
    ("to_date(a, 'yyyy') = b", None),
    ("a = interval 1 day", None),
    ("(a, b) = (1, 2)", None),
    ("a = 'x' COLLATE utf8_lcase", None),
    ("a = r'x'", None),
    ("a = X'1F'", None),
    (r"a = 'x\z'", None),
    ("a = 1 -- the first \\\n AND b = 2", None),
    (f"a = {'9' * 39}", None),
    ("(" * 30 + "a = 1" + ")" * 30, None),
    ("NOT " * 200 + "a = 1", None),
    (" + ".join(["a"] * 3_000) + " = 1", None),
    ("a = '" + "x" * PREDICATE_CHARS_MAX + "'", None),
    ("a IN (" + ", ".join(map(str, range(6_000))) + ")", None),
]


@pytest.mark.parametrize(("sql", "tree"), UNKNOWN)
def test_what_cannot_be_said_is_unknown(sql: str, tree: Any) -> None:
    """The smallest part that cannot be said is unknown, with the columns it reads, if known.

    Where no tree is given, it matters only that something is unknown.
    """
    found = json.loads(predicate_tree(sql))

    assert '["unknown",' in predicate_tree(sql)
    assert found == tree or tree is None


def test_what_cannot_be_said_is_shown_short() -> None:
    assert len(predicate_tree("f('" + "x" * 10_000 + "')")) < 300


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("a = 1)", "column 6"),
        ("a =", "column 3, at '=': an operand of = is missing"),
        ("NOT", "an operand of NOT is missing"),
        ("a BETWEEN 1", "an operand of BETWEEN is missing"),
        ("a IN ()", "IN needs one value at least"),
        ("b = 1 AND a in", "IN needs one value at least"),
        ("a = 1 AND AND b = 2", "column 13, at 'AND'"),
        ("a = 1\nOR ,", "line 2"),
        ("a = 'open", "tokenizing"),
        ("", "No expression"),
        ("SELECT 1", "column"),
        ("a = 1 GROUP BY b", "column"),
        ("a = 1; b = 2", "more than one"),
    ],
)
def test_text_that_is_no_condition_is_refused(sql: str, place: str) -> None:
    with pytest.raises(PredicateSyntaxError, match=place) as caught:
        predicate_tree(sql)

    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LedgerError)
    assert f"'{sql}'" in str(pickle.loads(pickle.dumps(caught.value)))  # noqa: S301 - our own


class Month(int, Enum):
    """A number that is shown as `Month.MARCH`."""

    MARCH = 3


class Rate(float):
    """A number that is shown as `Rate(1.5)`, as NumPy's are as `np.float64(1.5)`."""

    def __repr__(self) -> str:
        return f"Rate({float(self)!r})"


EXPRESSIONS: list[tuple[Expression, str]] = [
    (col("month") == 3, "month = 3"),
    (col("month") != 3, "month <> 3"),
    (col("month") == Month.MARCH, "month = 3"),
    (col("rate") == Rate(1.5), "rate = CAST('1.5' AS DOUBLE)"),
    (col("d") >= date(2024, 1, 31), "d >= DATE '2024-01-31'"),
    (col("d") < datetime(2024, 1, 31, 12), "d < TIMESTAMP_NTZ '2024-01-31 12:00:00'"),  # noqa: DTZ001
    (
        col("d") <= datetime(2024, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))),
        "d <= TIMESTAMP '2024-01-31 10:00:00Z'",
    ),
    (col("d") > datetime(2024, 1, 31, tzinfo=UTC), "d > TIMESTAMP '2024-01-31 00:00:00Z'"),
    ((col("a") == 1) & ~(col("b") == "x"), "(a = 1) AND (NOT (b = 'x'))"),
    ((col("a") == 1) | (col("b") == 1.5), "(a = 1) OR (b = CAST('1.5' AS DOUBLE))"),
    (col("a").isin(1, 2**40), "a IN (1, 1099511627776)"),
    (col("a").is_null(), "a IS NULL"),
    (col("a").is_not_null(), "a IS NOT NULL"),
    (col("a").eq_null_safe(None), "a <=> NULL"),
    (col("a").eq_null_safe(col("b")), "a <=> b"),
    (col("a") == Decimal("-1.50"), "a = -1.50"),
    (col("a") == True, "a = TRUE"),  # noqa: E712 - it builds a condition
    (col("a b`c") == "it's \\ me", "`a b``c` = 'it\\'s \\\\ me'"),
    (lit(1) == col("a"), "1 = a"),
]


@pytest.mark.parametrize(("expression", "sql"), EXPRESSIONS)
def test_expressions_read_as_sql_and_say_the_same(expression: Expression, sql: str) -> None:
    assert expression.sql() == sql
    assert predicate_tree(sql) == expression.tree() == tree_of(expression)


def nested(depth: int) -> Expression:
    """Return a condition of so many conditions, each within NOT of the next."""
    found = col("a") == 1
    for number in range(depth):
        found = ~(found | (col("b") == number))
    return found


LARGE = col("a").isin(*range(60_000))


@pytest.mark.parametrize(
    "expression",
    [
        nested(3_000),
        LARGE,
        ~LARGE,
        LARGE & (col("b") == 1),
        (col("b") == 1) | LARGE,
        (col("b") == 1).eq_null_safe(LARGE),
        LARGE.isin(True),  # noqa: FBT003 - it is a value
        col("a") == "x" * PREDICATE_CHARS_MAX,
    ],
    ids=["nested", "list", "not", "and", "or", "null safe", "in", "text"],
)
def test_expressions_have_the_bounds_of_text(expression: Expression) -> None:
    said = json.loads(expression.tree())

    assert said[0] == "unknown"
    assert len(expression.tree()) < 300
    assert said[1] == expression.sql()
    assert compile_predicate(expression.tree(), SCHEMA, derive=True).always


@pytest.mark.parametrize("expression", [nested(20), col("a").isin(*range(2_000))])
def test_expressions_within_bounds_are_known(expression: Expression) -> None:
    assert "unknown" not in expression.tree()


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: bool(col("a") == 1), "join conditions with &"),
        (lambda: col("a") == None, "is_null"),  # noqa: E711 - it is what must be refused
        (lambda: lit(math.nan), "a constant must be"),
        (lambda: col("a") == Decimal("NaN"), "a constant must be"),
        (lambda: col("a") < 10**40, "a constant must be"),
        (lambda: col("a").isin(None), "is_null"),  # type: ignore[arg-type]
        (lambda: col("a") == b"x", "a constant must be"),
    ],
)
def test_expressions_refuse_what_is_no_condition(build: Callable[[], Any], error: str) -> None:
    with pytest.raises(TypeError, match=error):
        build()


def test_in_needs_a_value() -> None:
    """An empty list is refused: SQL has none."""
    with pytest.raises(ValueError, match="at least one"):
        col("a").isin()


def test_whatever_says_which_rows_were_read_has_one_wire_form() -> None:
    assert [tree_of("a = 1"), tree_of(col("a") == 1)] == [json.dumps(A1, separators=(",", ":"))] * 2
    assert tree_of(None) == TRUE_PREDICATE


@laws
@given(st.randoms(use_true_random=False))
def test_law_trees_survive_their_sql(random: Random) -> None:
    tree = json.dumps(condition(random))
    one = compile_predicate(tree, SCHEMA, derive=False)
    two = compile_predicate(predicate_tree(sql_of(tree)), SCHEMA, derive=False)
    rows = [row(random) for _ in range(20)]

    assert [one.matches(each) for each in rows] == [two.matches(each) for each in rows]
    assert "unknown" not in two.text


@pytest.mark.parametrize(
    "sql", ["a >", "= 1", "AND a", "CASE WHEN", "a LIKE", "-", "1 +", "a..b", "x AND (", "f("]
)
def test_what_is_missing_is_said_in_words_of_sql_not_in_classes_of_what_reads_it(sql: str) -> None:
    with pytest.raises(PredicateSyntaxError) as caught:
        predicate_tree(sql)
    assert "sqlglot" not in str(caught.value)
    assert "<class" not in str(caught.value)


@laws
@given(st.text(max_size=30))
def test_law_any_text_is_a_condition_or_refused(sql: str) -> None:
    try:
        tree = predicate_tree(sql)
    except PredicateSyntaxError:
        return
    assert isinstance(json.loads(tree), list)


def test_words_of_sql_name_columns() -> None:
    words = {keyword.lower() for keyword in Spark.Tokenizer.KEYWORDS if keyword.isidentifier()}
    wrong = []
    for word in sorted(words | WORDS | {"user", "localtimestamp", "cast", "interval"}):
        for made in (col(word) == 1, col(word).isin(1, 2), col(word.upper()).is_null()):
            try:
                found = predicate_tree(made.sql())
            except PredicateSyntaxError:
                found = ""
            if found != made.tree():
                wrong.append(made.sql())
    assert wrong == []
