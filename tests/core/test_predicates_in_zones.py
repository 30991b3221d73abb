"""Predicates that are meant in a time zone: what they say of partition values."""

import json
from typing import Any

import pytest

from ledger.core.predicates.predicates import compile_predicate
from ledger.core.predicates.sql_text import sql_of
from tests.core.predicate_trees import lit

T = ["col", "t"]
BERLIN = "Europe/Berlin"
NEW_YEAR = lit("2024-01-01 00:00:00", "timestamp")


def matching(tree: Any, type_: str, values: list[str]) -> list[str]:
    predicate = compile_predicate(json.dumps(tree), (("t", type_),), derive=False)
    return [value for value in values if predicate.matches((value,))]


MIDNIGHTS = ["2024-01-01 00:00:00", "2024-01-01 00:00:00Z", "2023-12-31 23:00:00Z"]


@pytest.mark.parametrize(
    ("tree", "type_", "values", "expected"),
    [
        (["=", T, NEW_YEAR], "timestamp", MIDNIGHTS, MIDNIGHTS[:2]),
        (["in_zone", "UTC", ["=", T, NEW_YEAR]], "timestamp", MIDNIGHTS, MIDNIGHTS[:2]),
        (["in_zone", BERLIN, ["=", T, NEW_YEAR]], "timestamp", MIDNIGHTS, MIDNIGHTS[::2]),
        (["in_zone", "+01:00", ["<=>", T, NEW_YEAR]], "timestamp", MIDNIGHTS, MIDNIGHTS[::2]),
        (["in_zone", BERLIN, ["in", T, [NEW_YEAR]]], "timestamp", MIDNIGHTS, MIDNIGHTS[::2]),
        (
            ["in_zone", BERLIN, ["=", T, lit("2024-01-01", "date")]],
            "timestamp",
            MIDNIGHTS,
            MIDNIGHTS[::2],
        ),
        (
            ["in_zone", BERLIN, ["=", T, lit("2024-01-01 00:00:00", "timestamp_ntz")]],
            "timestamp",
            MIDNIGHTS,
            MIDNIGHTS[::2],
        ),
        (
            ["in_zone", BERLIN, ["=", T, lit("2023-12-31 23:00:00Z", "timestamp")]],
            "date",
            ["2023-12-31", "2024-01-01"],
            ["2024-01-01"],
        ),
        (
            ["in_zone", BERLIN, ["=", ["call", "year", T], lit("2024", "int")]],
            "timestamp",
            ["2023-12-31 22:59:59Z", "2023-12-31 23:00:00Z", "2024-12-31 23:59:59"],
            ["2023-12-31 23:00:00Z", "2024-12-31 23:59:59"],
        ),
        (
            ["in_zone", BERLIN, ["=", ["cast", T, "date"], lit("2024-01-01", "date")]],
            "timestamp",
            ["2023-12-31 23:30:00Z", "2024-01-01 23:30:00Z"],
            ["2023-12-31 23:30:00Z"],
        ),
        (
            ["in_zone", BERLIN, ["=", ["cast", T, "string"], lit("2024-07-01 02:00:00", "string")]],
            "timestamp",
            ["2024-07-01 00:00:00Z", "2024-07-01 02:00:00Z", "2024-07-01 02:00:00"],
            ["2024-07-01 00:00:00Z", "2024-07-01 02:00:00"],
        ),
        # The inner zone counts; two sides of other zones are instants.
        (
            ["in_zone", "+05:00", ["in_zone", BERLIN, ["=", T, NEW_YEAR]]],
            "timestamp",
            MIDNIGHTS,
            MIDNIGHTS[::2],
        ),
        (["=", T, ["in_zone", BERLIN, NEW_YEAR]], "timestamp", MIDNIGHTS, MIDNIGHTS[2:]),
        # A timestamp without a zone is a time of day in every zone, and others have none.
        (
            ["in_zone", BERLIN, [">", T, lit("2024-01-01 00:00:00", "timestamp_ntz")]],
            "timestamp_ntz",
            ["2024-01-01 00:00:00", "2024-01-01 00:30:00"],
            ["2024-01-01 00:30:00"],
        ),
        (["in_zone", BERLIN, ["=", T, lit("1", "int")]], "int", ["1", "01", "2"], ["1", "01"]),
    ],
)
def test_judged(tree: Any, type_: str, values: list[str], expected: list[str]) -> None:
    """Times of day are those of the zone, in literals, values, days and texts."""
    assert matching(tree, type_, values) == expected


def test_what_needs_the_rules_of_an_unknown_zone_is_true_what_does_not_is_judged() -> None:
    values = ["2024-01-01 00:00:00", "2024-01-01 00:00:00Z"]
    tree = ["in_zone", "Nowhere/Else", ["=", T, lit("2025-01-01 00:00:00", "timestamp")]]
    assert matching(tree, "timestamp", values) == values
    assert matching(["in_zone", "Nowhere/Else", ["=", T, lit("1", "int")]], "int", ["1", "2"]) == [
        "1"
    ]


def test_keys_are_those_of_utc() -> None:
    """No key is named for a time of day, which an index has in UTC; others are named."""
    schema = (("t", "timestamp"), ("i", "int"))
    tree = ["and", ["=", T, NEW_YEAR], ["=", ["col", "i"], lit("1", "int")]]
    in_zone = json.dumps(["in_zone", BERLIN, tree])
    plain, zoned = (
        compile_predicate(text, schema, derive=False) for text in (json.dumps(tree), in_zone)
    )
    assert (sorted(plain.equals), dict(zoned.equals)) == ([0, 1], {1: frozenset({1})})


@pytest.mark.parametrize(
    "tree",
    [
        ["=", ["cast", T, "timestamp_ntz"], lit("2024-01-01 00:00:00", "timestamp_ntz")],
        ["<", ["cast", T, "timestamp_ntz"], lit("2024-01-01 00:00:00", "timestamp_ntz")],
    ],
)
def test_times_of_day_are_not_judged_in_a_zone_that_changes_its_clocks(tree: Any) -> None:
    assert matching(["in_zone", BERLIN, tree], "timestamp", MIDNIGHTS) == MIDNIGHTS
    assert matching(tree, "timestamp", MIDNIGHTS) != MIDNIGHTS


def test_within_a_zone_too_what_is_said_of_other_columns_says_nothing() -> None:
    tree = ["and", ["=", T, NEW_YEAR], ["=", ["col", "x"], lit("1", "int")]]
    assert matching(["in_zone", BERLIN, tree], "timestamp", MIDNIGHTS) == MIDNIGHTS[::2]


def test_a_predicate_says_in_which_zone_it_is_meant() -> None:
    tree = json.dumps(["in_zone", BERLIN, ["=", T, NEW_YEAR]])
    assert sql_of(tree) == "(t = TIMESTAMP '2024-01-01 00:00:00') /* in time zone Europe/Berlin */"
