"""Laws of read predicates: never narrower than they say, whatever is in them."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.predicates.predicates import UNCASTABLE, compile_predicate, key_of
from ledger.core.predicates.sql_text import sql_of
from tests.core.predicate_trees import RAND, SCHEMA, SUBQUERY, UDF, VALUES, condition, row

laws = settings(deadline=None)
randoms = st.randoms(use_true_random=False)


@laws
@given(randoms)
def test_law_equals_is_sound(random: Random) -> None:
    predicate = compile_predicate(json.dumps(condition(random)), SCHEMA, derive=False)
    matching = [row for row in (odd_row(random) for _ in range(20)) if predicate.matches(row)]
    strays = [
        (number, row)
        for number, keys in predicate.equals.items()
        for row in matching
        if key_of(row[number], SCHEMA[number][1]) not in keys | {UNCASTABLE}
    ]

    assert strays == []


@laws
@given(randoms)
def test_law_widening_never_narrows(random: Random) -> None:
    """With any part of it not understood, a predicate matches at least what it matched before."""
    tree = condition(random)
    whole = compile_predicate(json.dumps(tree), SCHEMA, derive=False)
    part = compile_predicate(
        json.dumps(blurred(tree, random)), SCHEMA, derive=random.random() < 0.5
    )
    rows = [row(random) for _ in range(20)]

    assert {each for each in rows if whole.matches(each)} <= {
        each for each in rows if part.matches(each)
    }


@laws
@given(randoms)
def test_law_an_uncastable_value_matches_if_any_value_would(random: Random) -> None:
    predicate = compile_predicate(json.dumps(condition(random)), SCHEMA, derive=False)
    known, number = row(random), random.choice([0, 1, 4, 5, 6, 7, 8])
    others = {(*known[:number], value, *known[number + 1 :]) for value in VALUES[SCHEMA[number][0]]}
    broken = (*known[:number], "no value", *known[number + 1 :])

    assert predicate.matches(broken) or not any(predicate.matches(other) for other in others)


@laws
@given(randoms)
def test_law_the_text_for_people_says_everything(random: Random) -> None:
    one, two = condition(random, 2), condition(random, 2)

    assert (sql_of(json.dumps(one)) == sql_of(json.dumps(two))) == (one == two)


@pytest.mark.parametrize("text", ["", "no tree", '["=",1]', "[]", "{}"])
def test_sql_of_no_tree_is_the_text(text: str) -> None:
    assert sql_of(text) == text


def odd_row(random: Random) -> tuple[str | None, ...]:
    """Return partition values, one in ten of them no value of its type."""
    return tuple(value if random.random() < 0.9 else "no value" for value in row(random))


def blurred(tree: Any, random: Random) -> Any:
    """Return a tree with a part of it replaced by something not understood."""
    inner = [number for number, part in enumerate(tree) if isinstance(part, list)]
    if not inner or tree[0] == "in" or random.random() < 0.3:
        return random.choice([RAND, SUBQUERY, UDF])
    at = random.choice(inner)
    return [*tree[:at], blurred(tree[at], random), *tree[at + 1 :]]
