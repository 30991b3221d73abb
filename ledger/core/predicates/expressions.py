"""Expressions that can be evaluated: typed as Spark SQL types them, compiled into closures.

An expression takes the partition values of a file as the log has them and gives a value, None for
NULL. What fails raises one of FAILURES, while it is built or while it is evaluated: the predicate
then counts as TRUE. Expressions without columns are evaluated once, when they are built.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ledger.core.partitions.keys import Key, Mark, Row
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
    """An expression and its type; `column` is the number of the column that it is, if it is one."""

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
    """Return that a boolean column is the one given key; nothing of other columns."""
    return {number: frozenset({key})} if type_ == BOOLEAN else {}


def cast(inner: Typed, target: SparkType) -> Typed:
    """Return the expression cast to a type.

    Between instants and times of day of a zone that is judged of constants only: from others Spark
    takes the cast away, and casts what they are compared with, which another answer comes of where
    clocks change.
    """
    if inner.type == target:
        return inner
    is_moved = {inner.type.kind, target.kind} == CLOCKS and not inner.constant
    if is_moved and (inner.type.zone or target.zone):
        raise UndecidableError(f"a cast from {inner.type} to {target} is not judged in a zone")
    return strict(target, cast_between(inner.type, target), inner)


def strict(type_: SparkType, function: Callable[..., Value], *arguments: Typed) -> Typed:
    """Return a function of values that is NULL where one of them is."""
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
    """Return an expression over others, evaluated now if none of them depends on a column."""
    if all(argument.constant for argument in arguments):
        return constant(type_, value(()))
    return Typed(type_, value, points=points or {})


def compare(symbol: str, left: Typed, right: Typed) -> Typed:
    """Return a comparison that is NULL where a side is."""
    type_ = compared_type(symbol, left, right)
    found = strict(BOOLEAN, COMPARISONS[symbol], cast(left, type_), cast(right, type_))
    return replace(found, points=equal_keys(left, right, type_) if symbol == "=" else {})


def compared_type(symbol: str, left: Typed, right: Typed) -> SparkType:
    """Return the type both sides are compared in.

    Spark answers an order between an integral value and a decimal literal beyond 64 bits without
    looking at the value, even where it is NULL: such an order is not judged.
    """
    kinds = {left.type.kind, right.type.kind}
    if symbol in ORDERS and kinds & BITS.keys() and any(map(is_beyond, (left, right))):
        raise UndecidableError("Spark orders what is beyond 64 bits without looking at NULL")
    return common_type(left.type, right.type)


def is_beyond(side: Typed) -> bool:
    """Tell whether an expression is a decimal constant that 64 bits do not hold."""
    if not side.constant or side.type.kind is not Kind.DECIMAL:
        return False
    value = side.value(())
    return value is not None and bool(abs(value) >= BIGINT_MAX)


def null_safe(left: Typed, right: Typed) -> Typed:
    """Return `<=>`: equality that holds NULL for a value equal to itself only."""
    type_ = common_type(left.type, right.type)
    one, two = cast(left, type_).value, cast(right, type_).value
    points = equal_keys(left, right, type_, null=Mark.NULL)
    return made(BOOLEAN, lambda row: bool(one(row) == two(row)), (left, right), points)


def equal_keys(left: Typed, right: Typed, type_: SparkType, null: Mark | None = None) -> Points:
    """Return the key of a column that equals a constant; `null` stands for NULL, None for no key.

    Only if no two values of the column become equal, and none fails, when they are compared.
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
        raise UndecidableError("IN is judged over constants only")
    type_ = common_type(inner.type, *(item.type for item in items))
    listed = {cast(item, type_).value(()) for item in items}
    missing = None if None in listed else False
    wanted = frozenset(listed - {None})
    found = strict(BOOLEAN, lambda value: True if value in wanted else missing, cast(inner, type_))
    if inner.column is None or not embeds(inner.type, type_):
        return found
    return replace(found, points={inner.column: wanted})


def is_null(inner: Typed) -> Typed:
    """Return whether a value is NULL."""
    evaluate = inner.value
    points = {} if inner.column is None else {inner.column: frozenset({Mark.NULL})}
    return made(BOOLEAN, lambda row: evaluate(row) is None, (inner,), points)


def negation(inner: Typed) -> Typed:
    """Return NOT, which leaves NULL as it is."""
    found = strict(BOOLEAN, operator.not_, truth(inner))
    points = {} if inner.column is None else only(inner.type, inner.column, key=False)
    return replace(found, points=points)


def connected(word: str, arguments: Sequence[Typed]) -> Typed:
    """Return AND or OR in three-valued logic, from left to right as far as needed."""
    decisive = word == "or"
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
        raise UndecidableError(f"a {inner.type} is no condition")
    return inner
