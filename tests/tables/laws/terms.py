"""Conditions and values of Spark SQL, each with its meaning in plain Python.

A row is a dict of values by column id. A term over two relations has rows by (relation, id). The
text of a term is made for the names that the columns have when it is sent.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

Key = Hashable
Row = Mapping[Any, Any]
Names = Mapping[Any, str]


@dataclass(frozen=True)
class Term:
    """A term: its text for some names of columns, its value for a row, and its columns."""

    text: Callable[[Names], str]
    value: Callable[[Row], Any]
    keys: frozenset[Any]

    def __repr__(self) -> str:
        return self.text({key: f"<{key}>" for key in self.keys})


def column(key: Key) -> Term:
    return Term(lambda names: names[key], lambda row: row.get(key), frozenset([key]))


def literal(value: Any) -> Term:
    text = spelled(value)
    return Term(lambda _: text, lambda _: value, frozenset())


def spelled(value: Any) -> str:  # noqa: PLR0911 - one case for each type
    """Return the literal of a value in Spark SQL."""
    match value:
        case None:
            return "NULL"
        case bool() | int():
            return str(value).upper()
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case Decimal():
            return f"{value}BD"
        case str():
            inner = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{inner}'"
        case datetime():
            return f"TIMESTAMP'{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE'{value.isoformat()}'"
        case _:
            raise AssertionError(value)


def order(one: Any, other: Any) -> int:
    """Return -1, 0 or 1 as Spark orders two values; NaN equals itself and is the greatest."""
    if isinstance(one, float) or isinstance(other, float):
        nan = math.isnan(one), math.isnan(other)
        if any(nan):
            return int(nan[0]) - int(nan[1])
    if isinstance(one, str):
        one, other = one.encode(), other.encode()
    return int(one > other) - int(one < other)


TESTS: Mapping[str, Callable[[int], bool]] = {
    "=": lambda sign: sign == 0,
    "<>": lambda sign: sign != 0,
    "<": lambda sign: sign < 0,
    ">=": lambda sign: sign >= 0,
    ">": lambda sign: sign > 0,
    "<=": lambda sign: sign <= 0,
}


def compared(symbol: str, one: Term, other: Term) -> Term:
    """Return a comparison; <=> compares NULL too."""

    def value(row: Row) -> bool | None:
        left, right = one.value(row), other.value(row)
        if symbol == "<=>":
            if left is None or right is None:
                return left is right
            return order(left, right) == 0
        if left is None or right is None:
            return None
        return TESTS[symbol](order(left, right))

    return made(lambda a, b: f"({a} {symbol} {b})", value, one, other)


def is_null(one: Term, *, negated: bool = False) -> Term:
    word = "IS NOT NULL" if negated else "IS NULL"
    return made(lambda a: f"({a} {word})", lambda row: (one.value(row) is None) != negated, one)


def among(one: Term, values: Sequence[Any]) -> Term:
    """Return a test for one of several constants."""
    tests = [compared("=", one, literal(value)) for value in values]
    listed = ", ".join(map(spelled, values))
    return made(lambda a: f"({a} IN ({listed}))", lambda row: either(row, *tests), one)


def both(row: Row, *terms: Term) -> bool | None:
    """Return AND of three-valued terms."""
    values = [term.value(row) for term in terms]
    return False if False in values else None if None in values else True


def either(row: Row, *terms: Term) -> bool | None:
    """Return OR of three-valued terms."""
    values = [term.value(row) for term in terms]
    return True if True in values else None if None in values else False


def conjunction(one: Term, other: Term) -> Term:
    return made(lambda a, b: f"({a} AND {b})", lambda row: both(row, one, other), one, other)


def disjunction(one: Term, other: Term) -> Term:
    return made(lambda a, b: f"({a} OR {b})", lambda row: either(row, one, other), one, other)


def negation(one: Term) -> Term:
    def value(row: Row) -> bool | None:
        found = one.value(row)
        return None if found is None else not found

    return made(lambda a: f"(NOT {a})", value, one)


def added(one: Term, number: int) -> Term:
    """Return a sum; a column of INT stays one."""

    def value(row: Row) -> Any:
        found = one.value(row)
        return None if found is None else found + number

    return made(lambda a: f"{a} + {number}", value, one)


def first_of(one: Term, other: Term) -> Term:
    def value(row: Row) -> Any:
        found = one.value(row)
        return other.value(row) if found is None else found

    return made(lambda a, b: f"coalesce({a}, {b})", value, one, other)


def choice(test: Term, one: Term, other: Term) -> Term:
    """Return CASE WHEN."""
    return made(
        lambda a, b, c: f"CASE WHEN {a} THEN {b} ELSE {c} END",
        lambda row: (one if test.value(row) else other).value(row),
        test,
        one,
        other,
    )


def made(text: Callable[..., str], value: Callable[[Row], Any], *terms: Term) -> Term:
    keys = frozenset[Any]().union(*(term.keys for term in terms))
    return Term(lambda names: text(*(term.text(names) for term in terms)), value, keys)


TEXTS = ["a", "B", "é", "it's", "a/b", "a=b", "a%20b", "a:b", " ", "None", "null", "%", "\\", "1"]
TEXTS += ["01", "a\nb", "😀"]
WHOLE = [-3, -1, 0, 1, 2, 3, 7]
REALS = [0.0, -0.0, -1.5, 0.5, 2.0, math.nan, math.inf, -math.inf]
VALUES: dict[str, Sequence[Any]] = {
    "int": WHOLE,
    "bigint": [*WHOLE, 2**40],
    "float": REALS,
    "double": [*REALS, 0.1],
    "string": TEXTS,
    "boolean": [True, False],
    "date": [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)],
    "decimal(7,2)": [Decimal("0.00"), Decimal("-1.50"), Decimal("99999.99")],
    "timestamp": [datetime.fromisoformat(f"2024-0{n}-01 12:00:00.5+00:00") for n in (1, 7)],
}
NESTED: dict[str, Sequence[Any]] = {
    "array<string>": [[], ["a", None], ["b"]],
    "struct<a:int,b:array<int>>": [{"a": 1, "b": [1]}, {"a": None, "b": None}, {"a": 2, "b": []}],
}
"""Types that columns may have, and no condition compares."""


def drawn(rng: Random, type_: str) -> Any:
    """Return a value of a type, sometimes NULL."""
    return None if rng.random() < 0.15 else rng.choice((VALUES | NESTED)[type_])


def condition(rng: Random, columns: Mapping[Any, str], depth: int = 2) -> Term:
    """Return a condition over columns, which are given with their types."""
    if depth and rng.random() < 0.45:
        make = rng.choice([conjunction, disjunction])
        return make(condition(rng, columns, depth - 1), condition(rng, columns, depth - 1))
    if depth and rng.random() < 0.15:
        return negation(condition(rng, columns, depth - 1))
    key = rng.choice(list(columns))
    type_ = columns[key]
    if rng.random() < 0.2 or type_ in NESTED:
        return is_null(column(key), negated=rng.random() < 0.5)
    if rng.random() < 0.15:
        # The core cannot judge these: the rows decide.
        one = first_of(column(key), literal(rng.choice(VALUES[type_])))
        test = compared(rng.choice([*TESTS]), one, literal(rng.choice(VALUES[type_])))
        return choice(test, is_null(column(key)), is_null(column(key), negated=True))
    if rng.random() < 0.25:
        count = rng.randint(1, 3)
        return among(column(key), [rng.choice(VALUES[type_]) for _ in range(count)])
    like = [each for each in columns if columns[each] == type_ and each != key]
    other = (
        column(rng.choice(like))
        if like and rng.random() < 0.3
        else literal(rng.choice(VALUES[type_]))
    )
    return compared(rng.choice([*TESTS, "=", "<=>"]), column(key), other)


def value_for(rng: Random, type_: str, columns: Mapping[Any, str]) -> Any:
    """Return a value for a column of a type: a term of columns of the type, or a constant."""
    like = [each for each in columns if columns[each] == type_]
    if type_ in NESTED:
        return column(rng.choice(like)) if like and rng.random() < 0.5 else drawn(rng, type_)
    if not like or rng.random() < 0.3:
        return literal(drawn(rng, type_))
    one = column(rng.choice(like))
    kind = rng.random()
    if type_ in {"int", "bigint"} and kind < 0.4:
        return added(one, rng.randint(1, 3))
    if kind < 0.6:
        return first_of(one, literal(rng.choice(VALUES[type_])))
    if kind < 0.8:
        return choice(condition(rng, columns, 1), one, literal(drawn(rng, type_)))
    return one
