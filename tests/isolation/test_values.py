"""The judges' own evaluator: what is true of a row, and what a partition alone can tell."""

import json
from typing import Any

import pytest

from tests.isolation.values import holds, may_hold

SCHEMA = (("p", "int"), ("s", "string"))
P, S, X = ["col", "p"], ["col", "S"], ["col", "x"]
ONE, TWO, NULL = ["lit", "1", "int"], ["lit", "2.0", "decimal(2,1)"], ["lit", None, "void"]
# Rows 1 and 7: their data column is 1 and NULL.
HERE, ELSEWHERE, NOWHERE = ("01", "a"), ("2", None), (None, "")


@pytest.mark.parametrize(
    ("tree", "cells", "row", "expected"),
    [
        (["=", P, ONE], HERE, 1, True),
        (["=", P, ONE], ELSEWHERE, 1, False),
        (["=", P, ONE], NOWHERE, 1, False),
        (["not", ["=", P, ONE]], NOWHERE, 1, False),
        (["=", P, TWO], ELSEWHERE, 1, True),
        (["<=>", P, NULL], NOWHERE, 1, True),
        (["is_null", S], NOWHERE, 1, True),
        (["in", P, [ONE, NULL]], HERE, 1, True),
        (["not", ["in", P, [ONE, NULL]]], ELSEWHERE, 1, False),
        (["and", ["=", P, ONE], ["=", X, ONE]], HERE, 1, True),
        (["and", ["=", P, ONE], ["=", X, ONE]], HERE, 7, False),
        (["or", ["=", P, NULL], ["=", X, ONE]], HERE, 1, True),
        (["not", ["and", ["=", P, NULL], ["=", X, TWO]]], HERE, 1, True),
        (["lit", "true", "boolean"], None, 1, True),
        (["lit", "false", "boolean"], HERE, 1, False),
    ],
)
def test_rows(tree: Any, cells: tuple[str | None, ...] | None, row: int, expected: bool) -> None:  # noqa: FBT001
    """A scan finds a row iff its predicate is TRUE there: neither FALSE nor NULL."""
    assert holds(json.dumps(tree), cells, SCHEMA, row) is expected


@pytest.mark.parametrize(
    ("tree", "cells", "derives", "expected"),
    [
        (["=", P, ONE], HERE, False, True),
        (["=", P, ONE], ELSEWHERE, False, False),
        (["=", P, ONE], ("abc", "a"), False, True),
        (["=", P, ONE], None, False, True),
        (["and", ["=", X, ONE], ["=", P, ONE]], ELSEWHERE, False, False),
        (["=", X, ONE], ELSEWHERE, False, True),
        (["or", ["and", ["=", P, ONE], ["=", X, ONE]], ["=", P, NULL]], ELSEWHERE, False, True),
        (["or", ["and", ["=", P, ONE], ["=", X, ONE]], ["=", P, NULL]], ELSEWHERE, True, False),
        (["or", ["=", P, ONE], ["=", X, ONE]], ELSEWHERE, True, True),
        (["not", ["unknown", "rand() < 1"]], HERE, False, True),
        (["and", ["unknown", "odd(p)", ["p"]], ["=", P, ONE]], ELSEWHERE, False, False),
        (["not", ["=", P, NULL]], HERE, False, False),
    ],
)
def test_partitions(
    tree: Any,
    cells: tuple[str | None, ...] | None,
    derives: bool,  # noqa: FBT001 - a column of the table
    expected: bool,  # noqa: FBT001 - another
) -> None:
    """A partition may have been read unless its values alone rule it out (d.2 to d.7)."""
    assert may_hold(json.dumps(tree), cells, SCHEMA, derives=derives) is expected
