"""Read predicates against partition values: tables of known answers."""

import json
from typing import Any

import pytest

from ledger.core.limits import PREDICATE_CHARS_MAX
from ledger.core.partitions.keys import NoValue
from ledger.core.predicates.json_text import DEPTH_MAX
from ledger.core.predicates.predicates import (
    TRUE_PREDICATE,
    UNCASTABLE,
    CompiledPredicate,
    compile_predicate,
    key_of,
)
from ledger.core.predicates.types import Kind, SparkType, parse_type
from tests.core.predicate_trees import RAND, SUBQUERY, UDF, lit

P, X, ONE, TWO = ["col", "p"], ["col", "x"], lit("1", "int"), lit("2", "int")
P1, P2, X1 = ["=", P, ONE], ["=", P, TWO], ["=", X, ONE]
NULL, TRUE, FALSE = lit(None, "void"), lit("true", "boolean"), lit("false", "boolean")


def compiled(tree: Any, type_: str = "int", *, derive: bool = False) -> CompiledPredicate:
    """Return a predicate over the one partition column p."""
    return compile_predicate(json.dumps(tree), (("p", type_),), derive=derive)


def matching(tree: Any, type_: str, values: list[str | None], **options: bool) -> list[str | None]:
    predicate = compiled(tree, type_, **options)
    return [value for value in values if predicate.matches((value,))]


ZERO = lit("0.00", "string")
JUDGED: list[tuple[Any, str, list[str | None], list[str | None]]] = [
    # Spark's decimals know no zero with a sign.
    (
        ["=", ["cast", P, "string"], ZERO],
        "decimal(5,2)",
        ["-0", "0", "-0.001", "1"],
        ["-0", "0", "-0.001"],
    ),
    (["=", ["cast", ["neg", P], "string"], ZERO], "decimal(5,2)", ["0", "-0", "1"], ["0", "-0"]),
    (["=", P, ONE], "int", ["1", "01", " 1 ", "2", None, ""], ["1", "01", " 1 "]),
    ([">", P, lit("9", "int")], "int", ["10", "9"], ["10"]),
    ([">", P, lit("9", "int")], "string", ["10", "9"], ["10"]),
    ([">", P, lit("9", "string")], "string", ["10", "9", "91"], ["91"]),
    (["=", P, lit("1", "string")], "int", ["1", "01", "2"], ["1", "01"]),
    (["=", P, lit("1.5", "decimal(2,1)")], "decimal(5,2)", ["1.50", "1.5", "1"], ["1.50", "1.5"]),
    (["=", P, lit("1.555", "decimal(4,3)")], "decimal(5,2)", ["1.555"], []),
    (["=", P, lit("9007199254740992", "bigint")], "bigint", ["9007199254740993"], []),
    (
        ["=", P, lit("9007199254740992", "double")],
        "bigint",
        ["9007199254740993"],
        ["9007199254740993"],
    ),
    (
        ["=", P, lit("9007199254740993", "bigint")],
        "double",
        ["9007199254740992"],
        ["9007199254740992"],
    ),
    (["=", P, lit("0", "int")], "double", ["-0.0", "0"], ["-0.0", "0"]),
    ([">", P, lit("2024-01-01", "date")], "date", ["2024-01-01", "2024-1-2"], ["2024-1-2"]),
    (["<", P, lit("2024-01-02", "string")], "date", ["2024-01-01", "2024-01-02"], ["2024-01-01"]),
    (
        ["=", P, lit("2024-01-01 10:00:00", "timestamp")],
        "timestamp",
        ["2024-01-01T10:00:00.000Z", "2024-01-01 12:00:00+02:00", "2024-01-01 10:00:01"],
        ["2024-01-01T10:00:00.000Z", "2024-01-01 12:00:00+02:00"],
    ),
    (
        [">=", P, lit("2024-01-02", "date")],
        "timestamp",
        ["2024-01-01 23:59:59", "2024-01-02"],
        ["2024-01-02"],
    ),
    (P, "boolean", ["true", "T", "0", None], ["true", "T"]),
    (["not", P], "boolean", ["true", "0", None], ["0"]),
    (["=", P, lit("yes", "string")], "boolean", ["true", "false"], ["true"]),
    (["is_null", P], "int", ["1", None, ""], [None, ""]),
    (["not", ["is_null", P]], "int", ["1", None, ""], ["1"]),
    (["<=>", P, NULL], "int", ["1", None], [None]),
    (["<=>", P, ONE], "int", ["1", "2", None], ["1"]),
    (["not", ["<=>", P, ONE]], "int", ["1", "2", None], ["2", None]),
    (["not", ["=", P, ONE]], "int", ["1", "2", None], ["2"]),
    (["<>", P, ONE], "int", ["1", "2", None], ["2"]),
    (["in", P, [ONE, lit("03", "string")]], "int", ["1", "3", "4", None], ["1", "3"]),
    (["in", P, [ONE, NULL]], "int", ["1", "3", None], ["1"]),
    (["not", ["in", P, [ONE, NULL]]], "int", ["1", "3", None], []),
    (["not", ["in", P, [ONE, TWO]]], "int", ["1", "3", None], ["3"]),
    (["or", ["is_null", P], P1], "int", ["1", "2", None], ["1", None]),
    (["not", ["and", ["=", P, NULL], FALSE]], "int", ["1"], ["1"]),
    (
        ["=", ["call", "coalesce", P, lit("-1", "int")], lit("-1", "int")],
        "int",
        ["1", None],
        [None],
    ),
    (
        ["=", ["call", "year", P], lit("2024", "int")],
        "date",
        ["2024-05-01", "2023-12-31"],
        ["2024-05-01"],
    ),
    (
        ["=", ["call", "substring", P, lit("-2", "int"), ONE], lit("b", "string")],
        "string",
        ["abc", "ab"],
        ["abc"],
    ),
    (
        ["=", ["call", "substring", P, ONE, TWO], lit("ab", "string")],
        "string",
        ["abc", "b"],
        ["abc"],
    ),
    (["=", ["call", "upper", P], lit("EU", "string")], "string", ["eu", "Eu", "us"], ["eu", "Eu"]),
    (["=", ["%", P, lit("3", "int")], lit("-2", "int")], "int", ["-5", "5"], ["-5"]),
    (["=", ["/", P, TWO], lit("2.5", "double")], "int", ["5", "4"], ["5"]),
    (["like", P, lit("2024-%", "string")], "string", ["2024-01", "2023-01", None], ["2024-01"]),
    (["like", P, lit("a\\_%c", "string")], "string", ["a_bc", "abbc", "a_c"], ["a_bc", "a_c"]),
    (["=", ["cast", P, "string"], lit("1", "string")], "int", ["01", "2"], ["01"]),
    (["=", ["cast", P, "int"], ONE], "string", ["01", "2"], ["01"]),
    (["<", lit("1", "int"), P], "smallint", ["1", "2"], ["2"]),
]


@pytest.mark.parametrize(("tree", "type_", "values", "wanted"), JUDGED)
def test_values_are_compared_as_spark_does(
    tree: Any, type_: str, values: list[str | None], wanted: list[str | None]
) -> None:
    assert matching(tree, type_, values) == wanted


UNDECIDED: list[tuple[Any, str, str]] = [
    (P1, "int", "abc"),
    (P1, "int", "1.5"),
    (["not", P1], "int", "abc"),
    (["is_null", P], "int", "2147483648"),
    (P1, "string", "abc"),
    (["=", P, lit("abc", "string")], "int", "1"),
    (["=", P, lit("2024-02-30", "date")], "date", "2024-01-01"),
    (["=", P, lit("x", "string")], "date", "+2024-01-01"),
    (["=", P, ONE], "double", "NaN"),
    (["=", P, ONE], "date", "2024-01-01"),
    (["=", P, TRUE], "int", "1"),
    (["=", P, ONE], "binary", "1"),
    (["=", P, ONE], "float", "2"),
    (["=", P, ONE], "array<int>", "[1]"),
    (["=", ["/", P, lit("0", "int")], ONE], "int", "5"),
    (["=", ["+", P, ONE], ONE], "int", "2147483647"),
    (["=", ["call", "no_such_function", P], ONE], "int", "5"),
    (["=", ["call", "year"], ONE], "int", "5"),
    (["=", ["call", "upper", P], lit("X", "string")], "string", "ß"),
    (["like", P, lit("a\\b", "string")], "string", "x"),
    (["like", lit("b", "string"), lit("a%", "string")], "string", "x"),
    (["<", P, lit("1" * 30, "decimal(30,0)")], "int", ""),
    ([">", P, lit("0." + "1" * 38, "decimal(38,38)")], "bigint", "-5"),
    (["=", ["cast", P, "int"], TWO], "decimal(38,30)", "1." + "9" * 30),
    (["+", P, ONE], "int", "1"),
    (["no such word", P, ONE], "int", "5"),
    (["in", P, []], "int", "5"),
    (["or"], "int", "5"),
    (["=", P], "int", "5"),
    (["=", P, {"lit": 1}], "int", "5"),
    (["=", P, 1], "int", "5"),
    (7, "int", "5"),
    (None, "int", "5"),
    (lit("0", "int"), "int", "5"),
    (["and", TRUE, lit("0", "int")], "int", "5"),
    (["not", lit("1", "int")], "int", "5"),
]


@pytest.mark.parametrize(("tree", "type_", "value"), UNDECIDED)
def test_what_is_not_decidable_matches(tree: Any, type_: str, value: str) -> None:
    assert compiled(tree, type_).matches((value,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p = 1",
        "[" * 100_000,
        "NaN",
        "[1" * 40 + "]" * 40,
        json.dumps(["=", P, lit("1" * PREDICATE_CHARS_MAX, "string")]),
        '["not",' * (DEPTH_MAX + 1) + '["lit","false","boolean"]' + "]" * (DEPTH_MAX + 1),
        "9" * 5_000,
    ],
    ids=["empty", "sql", "hostile depth", "NaN", "numbers", "too long", "too deep", "long number"],
)
def test_text_that_is_no_tree_or_too_large_a_one_matches_every_partition(text: str) -> None:
    predicate = compile_predicate(text, (("p", "int"),), derive=True)

    assert (predicate.always, predicate.equals, predicate.text) == (True, {}, text)


SPLIT: list[tuple[Any, bool, list[str | None] | None]] = [
    (["and", P1, X1], False, ["1"]),
    (["and", P1, ["and", X1, ["<>", P, TWO]]], False, ["1"]),
    (["or", P1, X1], False, None),
    (["or", P1, X1], True, None),
    (["or", ["and", P1, X1], ["and", P2, X1]], False, None),
    (["or", ["and", P1, X1], ["and", P2, X1]], True, ["1", "2"]),
    (["not", ["and", P1, X1]], True, None),
    (["=", P, X], True, None),
    (X1, False, None),
    (["and", P1, RAND], False, ["1"]),
    (["or", P1, RAND], False, None),
    (["or", ["and", P1, RAND], P2], False, ["1", "2"]),
    (["or", ["and", P1, UDF], P2], False, None),
    (["or", ["and", P1, UDF], P2], True, ["1", "2"]),
    (["or", ["and", P1, SUBQUERY], P2], False, None),
    (["and", P1, SUBQUERY], False, ["1"]),
    (["not", RAND], False, None),
    (["not", ["and", P2, RAND]], False, None),
    (["and", P1, ["not", ["or", P1, RAND]]], False, ["1"]),
    (["=", ["unknown", "t.p"], ONE], False, None),
    (TRUE, False, None),
    (FALSE, False, []),
    (NULL, False, []),
    (["and", P1, P2], False, []),
    (["and", ["=", ["col", "P"], ONE], TRUE], False, ["1"]),
    (["or", FALSE, P1], False, ["1"]),
    (["or", TRUE, P1], False, None),
]


@pytest.mark.parametrize(("tree", "derive", "wanted"), SPLIT)
def test_partition_conjuncts_are_kept_and_the_rest_is_widened(
    tree: Any, *, derive: bool, wanted: list[str | None] | None
) -> None:
    """Over p of 1, 2 and 3: which are matched; None stands for a predicate that matches always."""
    predicate = compiled(tree, derive=derive)
    values: list[str | None] = ["1", "2", "3"]

    assert predicate.always is (wanted is None)
    assert matching(tree, "int", values, derive=derive) == (values if wanted is None else wanted)


EQUALS: list[tuple[Any, str, Any]] = [
    (P1, "int", {1}),
    (["=", ONE, P], "int", {1}),
    (["=", P, lit("01", "string")], "int", {1}),
    (["=", P, lit("1.0", "decimal(2,1)")], "int", {1}),
    (["=", P, lit("1", "double")], "int", None),
    (["=", P, ONE], "string", None),
    (["=", P, lit("a", "string")], "string", {"a"}),
    (["=", P, NULL], "int", set()),
    (["<=>", P, NULL], "int", {NoValue.NULL}),
    (["is_null", P], "int", {NoValue.NULL}),
    (["in", P, [ONE, TWO, NULL]], "int", {1, 2}),
    (["or", P1, ["is_null", P]], "int", {1, NoValue.NULL}),
    (["or", P1, [">", P, TWO]], "int", None),
    (["and", ["in", P, [ONE, TWO]], P1], "int", {1}),
    (["and", [">", P, TWO], P1], "int", {1}),
    (["not", P1], "int", None),
    (P, "boolean", {True}),
    (["not", P], "boolean", {False}),
    (FALSE, "int", set()),
    (["=", ["cast", P, "int"], ONE], "string", None),
]


@pytest.mark.parametrize(("tree", "type_", "wanted"), EQUALS)
def test_equalities_give_the_keys_to_look_up(tree: Any, type_: str, wanted: Any) -> None:
    assert compiled(tree, type_).equals == ({} if wanted is None else {0: frozenset(wanted)})


def test_every_bound_column_can_be_looked_up() -> None:
    """Each of two columns bound to keys is named, so that the better one can be asked."""
    tree = ["and", ["in", ["col", "a"], [ONE, TWO]], ["=", ["col", "b"], ONE]]
    schema = (("a", "int"), ("b", "int"))

    assert compile_predicate(json.dumps(tree), schema, derive=False).equals == {
        0: frozenset({1, 2}),
        1: frozenset({1}),
    }


def test_without_partition_columns_nothing_is_evaluated() -> None:
    assert compile_predicate(json.dumps(FALSE), (), derive=True).always


def test_true_predicate_is_true() -> None:
    assert compile_predicate(TRUE_PREDICATE, (("p", "int"),), derive=False).always


def test_a_file_with_too_few_partition_values_is_not_left_out() -> None:
    assert compiled(P1).matches(())


def test_hostile_pattern_takes_no_time() -> None:
    tree = ["like", P, lit("%a" * 40 + "b", "string")]
    longer = "a" * 3_000

    assert matching(tree, "string", ["a" * 100, longer]) == [longer]


@pytest.mark.parametrize(
    ("type_", "texts", "key"),
    [
        ("int", ["1", "01", "+1", " 1 "], 1),
        ("decimal(5,2)", ["1.5", "1.50", "15e-1"], key_of("1.500", "decimal(10,3)")),
        ("double", ["0", "-0.0", "0e5"], 0.0),
        ("boolean", ["true", "T", "yes", "1"], True),
        (
            "timestamp",
            ["2024-01-01", "2024-01-01T00:00:00.000Z"],
            key_of("2024-01-01", "timestamp"),
        ),
        ("date", ["2024", "2024-1", "2024-01-01 x"], key_of("2024-01-01", "date")),
        ("string", ["01"], "01"),
        ("varchar(5)", ["abc"], "abc"),
        ("int", [None, ""], NoValue.NULL),
        ("string", [None, ""], NoValue.NULL),
        ("int", ["x", "1.5", "99999999999"], UNCASTABLE),
        ("timestamp", ["12:00", "2024-01-01 25:00:00", "2024-01-01 00:00:00+19:00"], UNCASTABLE),
        ("char(3)", ["a"], UNCASTABLE),
        ("struct<a:int>", ["x", None], UNCASTABLE),
    ],
)
def test_equal_values_have_equal_keys(type_: str, texts: list[str | None], key: Any) -> None:
    assert {key_of(text, type_) for text in texts} == {key}


def test_long_types_take_no_time() -> None:
    assert parse_type("int" + " " * 1_000_000 + "!") is None
    assert parse_type(" decimal ( 5 , 2 ) ") == SparkType(Kind.DECIMAL, 5, 2)
