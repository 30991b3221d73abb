"""Conditions on partition transforms that follow from conditions on the columns they are made of.

A row with `at >= T` lies in the day of T or in a later one, and a row with `id = 7` in the bucket
of 7. So a read of such rows finds its files, and meets only commits to the same ones. What is not
certain for every row that fulfils the condition is left out.
"""

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, NamedTuple

from ledger.arrow.schema import TableSchema
from ledger.core.partitions.transforms import CUT_TEXT, PartitionTransform
from ledger.core.predicates.casts import DECIMALS
from ledger.core.predicates.time_zones import canonical_zone
from ledger.core.predicates.tree import (
    And,
    ColumnRef,
    Compare,
    In,
    InZone,
    IsNull,
    Literal,
    Node,
    Not,
    Or,
    connected,
    judged,
)
from ledger.core.predicates.types import BITS, TIMES, Kind, SparkType, UndecidableError, parse_type
from ledger.expressions.bounds import MIRRORED, literal_value
from ledger.expressions.column_bounds import TOO_ODD

WIDENED: Final = {"=": "=", "<=>": "=", "<": "<=", "<=": "<=", ">": ">=", ">=": ">="}
"""Results keep the order of values, but different values may have one result."""


class TransformSource(NamedTuple):
    """A transform with its name among the partition columns, and the type of its column."""

    name: str
    transform: PartitionTransform
    declared: str
    kind: SparkType

    def names(self, column: str) -> bool:
        """Tell whether a name is that of the column."""
        return column.lower() == self.transform.column.lower()


def on_transforms(where: Node, schema: TableSchema) -> Iterator[Node]:
    """Yield what a condition says of the transforms that divide a table."""
    for name, transform in schema.transforms.items():
        column = schema.by_name[transform.column.lower()]
        kind = parse_type(column.declared)
        if kind is None:
            continue
        found = projected(
            judged(where), TransformSource(name, transform, column.declared, kind), ""
        )
        if found is not None:
            yield found


def projected(  # noqa: PLR0911 - a case for each node
    node: Node, source: TransformSource, zone: str
) -> Node | None:
    """Return what holds for the results of all rows that fulfil a condition, None if unknown."""
    match node:
        case And(parts):
            found = [projected(judged(part), source, zone) for part in parts]
            known = [each for each in found if each is not None]
            return connected(And, known) if known else None
        case Or(parts):
            return any_of([projected(judged(part), source, zone) for part in parts])
        case InZone(other, inner):
            return projected(judged(inner), source, canonical_zone(other))
        case In(ColumnRef(name), items) if source.names(name):
            equal = [Compare("=", ColumnRef(name), judged(each)) for each in items]
            return any_of([projected(each, source, zone) for each in equal])
        case IsNull(ColumnRef(name)) if source.names(name):
            return IsNull(ColumnRef(source.name))
        case Not(IsNull(ColumnRef(name))) if source.names(name):
            return Not(IsNull(ColumnRef(source.name)))
        case Compare(symbol, left, right):
            return of_comparison(symbol, judged(left), judged(right), source, zone)
    return None


def any_of(found: list[Node | None]) -> Node | None:
    """Return the disjunction of what is known of each part, None if one is unknown."""
    known = list(dict.fromkeys(each for each in found if each is not None))
    return connected(Or, known) if known and all(each is not None for each in found) else None


def of_comparison(
    symbol: str, left: Node, right: Node, source: TransformSource, zone: str
) -> Node | None:
    """Return what a comparison of the column with a constant says of the results."""
    match left, right:
        case ColumnRef(name), Literal(str() as text, type_) if source.names(name):
            pass
        case Literal(str() as text, type_), ColumnRef(name) if source.names(name):
            symbol = MIRRORED.get(symbol, "")
        case _:
            return None
    if symbol not in WIDENED or (source.transform.kind == "bucket" and WIDENED[symbol] != "="):
        return None
    try:
        target, value = literal_value(text, type_, source.kind, zone)
        value = in_column(value, target, source, is_equal=WIDENED[symbol] == "=")
        result = source.transform.of_value(value, source.kind)
    except TOO_ODD:
        return None
    return Compare(WIDENED[symbol], ColumnRef(source.name), literal_of(result, source))


def in_column(value: Any, target: SparkType, source: TransformSource, *, is_equal: bool) -> Any:
    """Return a constant as a value of the column, raises an error for one that it cannot hold.

    `target` is the type in which both are compared. A day may stand for a time of it where only the
    order counts.
    """
    kind = source.kind.kind
    if kind in BITS:
        if isinstance(value, bool) or value != int(value):
            raise UndecidableError(f"{value} is no whole number")
        return int(value)
    if kind is Kind.DECIMAL:
        if not isinstance(value, int | Decimal):
            raise UndecidableError(f"{value} is no decimal")
        whole = DECIMALS.scaleb(Decimal(value), source.kind.scale)
        if whole != int(whole):
            raise UndecidableError(f"{value} has more digits than the column")
        return Decimal(value)
    if kind in TIMES:
        return time_in(value, kind, is_equal=is_equal)
    if target.kind is not kind:
        raise UndecidableError(f"{target} is no type of the column")
    return value


def time_in(value: Any, kind: Kind, *, is_equal: bool) -> Any:
    """Return a day or a time as a value of a column of days or times; raises an error."""
    if kind is not Kind.DATE:
        return value if isinstance(value, datetime) else datetime.combine(value, time())
    if isinstance(value, datetime):
        if is_equal and value.time() != time():
            raise UndecidableError("no day equals a time within it")
        return value.date()
    assert isinstance(value, date), f"{value!r} is no day"
    return value


def literal_of(result: str, source: TransformSource) -> Literal:
    """Return a result as a constant of its type."""
    type_ = source.transform.result_type(source.declared)
    is_number = type_ == "int" or source.kind.kind in BITS
    return Literal(result, type_, is_number=is_number and not result.startswith(CUT_TEXT))
