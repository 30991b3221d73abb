"""The arithmetic and the functions of predicates, with the rules of Spark SQL's ANSI mode.

A function or type that is not supported here raises UndecidableError.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ledger.core.partitions.keys import Row
from ledger.core.predicates.casts import Value, cast_between
from ledger.core.predicates.expressions import Typed, cast, constant, made, strict
from ledger.core.predicates.time_zones import to_local
from ledger.core.predicates.types import (
    BITS,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    TIMES,
    Kind,
    SparkType,
    UndecidableError,
    common_type,
)

LIKE_ESCAPE: Final = "\\"
LIKE_STEPS_MAX: Final = 10_000


def arithmetic(symbol: str, left: Typed, right: Typed) -> Typed:
    """Return a sum, difference, product, quotient or remainder of integral values or doubles."""
    type_ = common_type(left.type, right.type)
    if type_ != DOUBLE and type_.kind not in BITS:
        raise UndecidableError(f"arithmetic of {type_} is not supported")
    result = DOUBLE if symbol == "/" else type_
    compute, fit = ARITHMETIC[symbol], cast_between(result, result)

    def function(one: Value, two: Value) -> Value:
        found = fit(compute(one, two))
        if found != found:  # noqa: PLR0124 - only NaN differs from itself
            raise UndecidableError("NaN is not supported")
        return found

    return strict(result, function, cast(left, result), cast(right, result))


def remainder(one: Value, two: Value) -> Value:
    """Return the remainder with the sign of the first number, as in Java."""
    if isinstance(one, float):
        return math.fmod(one, two)
    return int(math.copysign(1, one)) * (abs(one) % abs(two))


def negative(inner: Typed) -> Typed:
    """Return the number with the other sign."""
    if inner.type.kind in BITS:
        return arithmetic("-", constant(inner.type, 0), inner)
    if inner.type.kind is Kind.DOUBLE:
        return strict(inner.type, operator.neg, inner)
    if inner.type.kind is Kind.DECIMAL:
        # Spark's decimals have no negative zero.
        return strict(inner.type, lambda value: value.copy_negate() if value else value, inner)
    raise UndecidableError(f"the negative of {inner.type} is not supported")


def absolute(inner: Typed) -> Typed:
    """Return the number without its sign."""
    if inner.type != DOUBLE and inner.type.kind not in BITS:
        raise UndecidableError(f"abs of {inner.type} is not supported")
    fit = cast_between(inner.type, inner.type)
    return strict(inner.type, lambda value: fit(abs(value)), inner)


def coalesce(*arguments: Typed) -> Typed:
    """Return the first value that is not NULL."""
    type_ = common_type(*(argument.type for argument in arguments))
    values = [cast(argument, type_).value for argument in arguments]

    def value(row: Row) -> Value:
        return next((found for each in values if (found := each(row)) is not None), None)

    return made(type_, value, arguments)


def part_of(name: str, *kinds: Kind) -> Callable[[Typed], Typed]:
    """Return the function that extracts one field from values of these kinds of types."""

    def taken(inner: Typed) -> Typed:
        if inner.type.kind not in kinds:
            raise UndecidableError(f"{name} of {inner.type} is not supported")
        take, zone = operator.attrgetter(name), inner.type.zone
        return strict(INT, (lambda at: take(to_local(at, zone))) if zone else take, inner)

    return taken


def of_text(type_: SparkType, function: Callable[[str], Value]) -> Callable[[Typed], Typed]:
    """Return a function of texts, which raises UndecidableError for other types."""
    return lambda inner: strict(type_, function, text_of(inner))


def text_of(inner: Typed) -> Typed:
    """Return the expression if it is a text."""
    if inner.type != STRING:
        raise UndecidableError(f"the argument must be a string, got {inner.type}")
    return inner


def upper(text: str) -> str:
    """Return a text in capitals; only for ASCII, because Java and Python differ beyond."""
    return text.upper() if text.isascii() else undecided(text)


def lower(text: str) -> str:
    """Return a text in small letters; only for ASCII, because Java and Python differ beyond."""
    return text.lower() if text.isascii() else undecided(text)


def undecided(text: str) -> str:
    """Raise UndecidableError for a text."""
    raise UndecidableError(f"the text must be ASCII, got '{text}'")


def substring(text: Typed, start: Typed, *length: Typed) -> Typed:
    """Return SUBSTRING, which counts characters from 1, or from the end if negative."""
    if start.type != INT or any(each.type != INT for each in length):
        raise UndecidableError("substring is supported with INT positions only")
    return strict(STRING, cut, text_of(text), start, *length)


def cut(text: str, start: int, length: int | None = None) -> str:
    """Return a part of a text, without what lies beyond its ends."""
    first = start - 1 if start > 0 else start + len(text) if start < 0 else 0
    end = len(text) if length is None else first + length
    return text[max(first, 0) : max(end, 0)]


def like(inner: Typed, pattern: Typed) -> Typed:
    """Return LIKE with a constant pattern and the default escape character."""
    if inner.constant or not pattern.constant:
        raise UndecidableError("LIKE is supported on columns with a constant pattern only")
    text = text_of(pattern).value(())
    if text is None:
        return constant(BOOLEAN, None)
    tokens = like_tokens(text)
    return strict(BOOLEAN, lambda value: like_matches(value, tokens), text_of(inner))


def like_tokens(pattern: str) -> list[str]:
    """Return the tokens of a pattern: '%', '_', or the escape and a literal character."""
    tokens, characters = [], iter(pattern)
    for character in characters:
        if character == LIKE_ESCAPE:
            escaped = next(characters, "")
            if escaped not in {"%", "_", LIKE_ESCAPE}:
                raise UndecidableError(f"'{pattern}' escapes {escaped!r}, which needs no escape")
            tokens.append(LIKE_ESCAPE + escaped)
        else:
            tokens.append(character if character in "%_" else LIKE_ESCAPE + character)
    return tokens


def like_matches(text: str, tokens: Sequence[str]) -> bool:
    """Tell whether a whole text matches, in time of at most text times pattern.

    Raises UndecidableError if that is too long, since a client may send any text and pattern.
    """
    if len(text) * len(tokens) > LIKE_STEPS_MAX:
        raise UndecidableError(
            f"LIKE must take {LIKE_STEPS_MAX} steps at most, got {len(text)} characters times "
            f"{len(tokens)} tokens"
        )
    at = token = 0
    star, resume = -1, 0
    while at < len(text):
        wanted = tokens[token] if token < len(tokens) else ""
        if wanted == "%":
            star, resume, token = token, at, token + 1
        elif wanted in {"_", LIKE_ESCAPE + text[at]}:
            at, token = at + 1, token + 1
        elif star >= 0:
            # Only the last '%' needs to match more: everything before it matches already.
            resume += 1
            at, token = resume, star + 1
        else:
            return False
    return all(rest == "%" for rest in tokens[token:])


ARITHMETIC: Final[Mapping[str, Callable[..., Value]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": remainder,
}
# Functions by name, with the fewest and the most arguments they take.
FUNCTIONS: Final[Mapping[str, tuple[Callable[..., Typed], int, int]]] = {
    "abs": (absolute, 1, 1),
    "coalesce": (coalesce, 1, 100),
    "year": (part_of("year", *TIMES), 1, 1),
    "month": (part_of("month", *TIMES), 1, 1),
    "day": (part_of("day", *TIMES), 1, 1),
    "hour": (part_of("hour", Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ), 1, 1),
    "length": (of_text(INT, len), 1, 1),
    "lower": (of_text(STRING, lower), 1, 1),
    "substring": (substring, 2, 3),
    "upper": (of_text(STRING, upper), 1, 1),
}
