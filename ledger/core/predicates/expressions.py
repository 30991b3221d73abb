"""Expressions of predicates, typed with the rules of Spark SQL and compiled into closures.

An expression takes the partition values of a file as in the log and returns a value, None for NULL.
A failure while it is built or evaluated raises one of FAILURES, and the predicate counts as TRUE.
An expression without columns is evaluated once, when it is built.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ledger.core.partitions.keys import Key, NoValue, Row
from ledger.core.predicates.casts import Value, cast_between
from ledger.core.predicates.types import (
    BITS,
    BOOLEAN,
    STRING,
    Kind,
    SparkType,
    UndecidableError,
    common_type,
    embeds,
)

Evaluate = Callable[[Row], Value]
# Column number -> the only keys with which the expression can be TRUE.
Points = Mapping[int, frozenset[Key]]

ORDERS: Final = {"<", "<=", ">", ">="}
COMPARISONS: Final[Mapping[str, Callable[..., bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
CLOCKS: Final = {Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ}
BIGINT_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression and its type; `column` is the number of the column, if it is just a column."""

    type: SparkType
    value: Evaluate
    constant: bool = False
    column: int | None = None
    points: Points = field(default_factory=dict)


def literal(text: str | None, type_: SparkType) -> Typed:
    """Return a constant given by its text, None for NULL."""
    return constant(type_, None if text is None else cast_between(STRING, type_)(text))


def constant(type_: SparkType, value: Value) -> Typed:
    """Return an expression that has the same value everywhere."""
    return Typed(type_, lambda _row: value, constant=True)


def column(number: int, type_: SparkType) -> Typed:
    """Return the partition column of a number."""
    read = cast_between(STRING, type_)

    def value(row: Row) -> Value:
        text = row[number]
        return read(text) if text else None

    return Typed(type_, value, column=number, points=only(type_, number, key=True))


def only(type_: SparkType, number: int, *, key: Key) -> Points:
    """Return that a boolean column has this one key; no points for columns of other types."""
    return {number: frozenset({key})} if type_ == BOOLEAN else {}


def cast(inner: Typed, target: SparkType) -> Typed:
    """Return the expression cast to a type.

    A cast between TIMESTAMP and TIMESTAMP_NTZ in a zone is supported for constants only. From other
    expressions Spark removes the cast and casts the other side of the comparison instead, which
    gives another result around a change of clocks.
    """
    if inner.type == target:
        return inner
    is_moved = {inner.type.kind, target.kind} == CLOCKS and not inner.constant
    if is_moved and (inner.type.zone or target.zone):
        raise UndecidableError(
            f"a cast from {inner.type} to {target} in a zone is supported for constants only"
        )
    return strict(target, cast_between(inner.type, target), inner)


def strict(type_: SparkType, function: Callable[..., Value], *arguments: Typed) -> Typed:
    """Return a function of values that is NULL if one of them is NULL."""
    values = [argument.value for argument in arguments]

    def value(row: Row) -> Value:
        found = []
        for evaluate in values:
            each = evaluate(row)
            if each is None:
                return None
            found.append(each)
        return function(*found)

    return made(type_, value, arguments)


def made(
    type_: SparkType, value: Evaluate, arguments: Sequence[Typed], points: Points | None = None
) -> Typed:
    """Return an expression over others, evaluated now if all of them are constant."""
    if all(argument.constant for argument in arguments):
        return constant(type_, value(()))
    return Typed(type_, value, points=points or {})


def compare(symbol: str, left: Typed, right: Typed) -> Typed:
    """Return a comparison that is NULL if one side is NULL."""
    type_ = compared_type(symbol, left, right)
    found = strict(BOOLEAN, COMPARISONS[symbol], cast(left, type_), cast(right, type_))
    return replace(found, points=equal_keys(left, right, type_) if symbol == "=" else {})


def compared_type(symbol: str, left: Typed, right: Typed) -> SparkType:
    """Return the type in which both sides are compared.

    Spark decides an order between an integral value and a decimal literal beyond 64 bits from the
    literal alone, even for NULL. Such an order is not supported.
    """
    kinds = {left.type.kind, right.type.kind}
    if symbol in ORDERS and kinds & BITS.keys() and any(map(is_beyond, (left, right))):
        raise UndecidableError("an order with a decimal beyond 64 bits is not supported")
    return common_type(left.type, right.type)


def is_beyond(side: Typed) -> bool:
    """Tell whether an expression is a decimal constant beyond 64 bits."""
    if not side.constant or side.type.kind is not Kind.DECIMAL:
        return False
    value = side.value(())
    return value is not None and bool(abs(value) >= BIGINT_MAX)


def null_safe(left: Typed, right: Typed) -> Typed:
    """Return `<=>`: equality in which NULL is a value that equals only itself."""
    type_ = common_type(left.type, right.type)
    one, two = cast(left, type_).value, cast(right, type_).value
    points = equal_keys(left, right, type_, null=NoValue.NULL)
    return made(BOOLEAN, lambda row: bool(one(row) == two(row)), (left, right), points)


def equal_keys(left: Typed, right: Typed, type_: SparkType, null: NoValue | None = None) -> Points:
    """Return the key of a column that equals a constant; `null` is the key of NULL, None = no key.

    Returns points only if the cast for the comparison keeps all values of the column different.
    """
    for side, other in ((left, right), (right, left)):
        if side.column is not None and other.constant and embeds(side.type, type_):
            value = cast(other, type_).value(())
            key = null if value is None else value
            return {side.column: frozenset() if key is None else frozenset({key})}
    return {}


def contains(inner: Typed, items: Sequence[Typed]) -> Typed:
    """Return IN over a list of constants."""
    if not all(item.constant for item in items):
        raise UndecidableError("IN is supported with constants only")
    type_ = common_type(inner.type, *(item.type for item in items))
    listed = {cast(item, type_).value(()) for item in items}
    missing = None if None in listed else False
    wanted = frozenset(listed - {None})
    found = strict(BOOLEAN, lambda value: True if value in wanted else missing, cast(inner, type_))
    if inner.column is None or not embeds(inner.type, type_):
        return found
    return replace(found, points={inner.column: wanted})


def is_null(inner: Typed) -> Typed:
    """Return IS NULL, which is never NULL itself."""
    evaluate = inner.value
    points = {} if inner.column is None else {inner.column: frozenset({NoValue.NULL})}
    return made(BOOLEAN, lambda row: evaluate(row) is None, (inner,), points)


def negation(inner: Typed) -> Typed:
    """Return NOT, which keeps NULL."""
    found = strict(BOOLEAN, operator.not_, truth(inner))
    points = {} if inner.column is None else only(inner.type, inner.column, key=False)
    return replace(found, points=points)


def connected(arguments: Sequence[Typed], *, decisive: bool) -> Typed:
    """Return AND or OR in three-valued logic, evaluated from left to right as far as needed.

    `decisive` is the value that decides: TRUE for OR, FALSE for AND.
    """
    values = [truth(argument).value for argument in arguments]

    def value(row: Row) -> Value:
        pending: bool | None = not decisive
        for evaluate in values:
            each = evaluate(row)
            if each is decisive:
                return decisive
            pending = None if each is None else pending
        return pending

    return made(BOOLEAN, value, arguments)


def truth(inner: Typed) -> Typed:
    """Return the expression if it is a boolean or NULL."""
    if inner.type.kind not in {Kind.BOOLEAN, Kind.VOID}:
        raise UndecidableError(f"a condition must be a boolean, got {inner.type}")
    return inner
