"""Files and row groups that hold no row of a condition, by their statistics.

A condition is judged by the least and the greatest value of each column. The judgement errs on the
side of reading: what is not understood, or uncertain, may hold.
"""

from collections.abc import Callable
from typing import Any, Final

from ledger.arrow.schema import TableSchema
from ledger.core.predicates.casts import cast_between
from ledger.core.predicates.time_zones import canonical_zone
from ledger.core.predicates.tree import (
    FALSE,
    TRUE,
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
    RowForm,
)
from ledger.core.predicates.types import (
    BITS,
    NUMBERS,
    STRING,
    TIMES,
    Kind,
    SparkType,
    UndecidableError,
    common_type,
    parse_type,
)
from ledger.expressions.column_bounds import TOO_ODD, BoundsOf, ColumnBounds, stats_bounds
from ledger.reads.port import FileRow

MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def may_hold(node: Node, bounds: BoundsOf, zone: str = "", *, inverted: bool = False) -> bool:
    """Return whether a row may fulfil a condition; `inverted` asks for NOT of the condition."""
    try:
        return judge(node, bounds, zone, inverted=inverted)
    except TOO_ODD:
        return True


def judge(  # noqa: C901, PLR0911 - a case for each node
    node: Node, bounds: BoundsOf, zone: str, *, inverted: bool
) -> bool:
    """Return whether a condition, or NOT of it, may be TRUE; raises an error for the too odd."""
    match node:
        case And(parts) | Or(parts):
            needs_all = isinstance(node, And) is not inverted
            held = (may_hold(part, bounds, zone, inverted=inverted) for part in parts)
            return all(held) if needs_all else any(held)
        case Compare(symbol, left, right):
            return comparison_may_hold(symbol, left, right, bounds, zone, inverted=inverted)
        case Not(inner):
            return may_hold(inner, bounds, zone, inverted=not inverted)
        case RowForm(inner):
            return may_hold(inner, bounds, zone, inverted=inverted)
        case InZone(other, inner):
            return may_hold(inner, bounds, canonical_zone(other), inverted=inverted)
        case IsNull(ColumnRef(name)):
            found = bounds(name)
            return may_have_value(found) if inverted else found is None or found.nulls != 0
        case In(ColumnRef(name) as column, items):
            if inverted:
                return may_have_value(bounds(name))
            return any(may_hold(Compare("=", column, item), bounds, zone) for item in items)
        case ColumnRef():
            return may_hold(Compare("=", node, FALSE if inverted else TRUE), bounds, zone)
        case Literal(None | "false", "void" | "boolean"):
            return inverted
    return True


def comparison_may_hold(
    symbol: str, left: Node, right: Node, bounds: BoundsOf, zone: str, *, inverted: bool
) -> bool:
    """Return whether a comparison, or NOT of it, may be TRUE."""
    if inverted:
        if symbol in {"=", "<>"} and isinstance(left, ColumnRef):
            return may_have_value(bounds(left.name))
        symbol = NEGATED.get(symbol, "")
    if symbol not in MIRRORED:
        return True
    match left, right:
        case ColumnRef(name), Literal(text, type_):
            return compared(symbol, bounds(name), text, type_, zone)
        case Literal(text, type_), ColumnRef(name):
            return compared(MIRRORED[symbol], bounds(name), text, type_, zone)
    return True


def may_have_value(bounds: ColumnBounds | None) -> bool:
    """Return whether a column may have another value than NULL."""
    return bounds is None or not bounds.is_all_null


def compared(
    symbol: str, bounds: ColumnBounds | None, text: str | None, type_: str, zone: str
) -> bool:
    """Return whether a comparison of a column with a literal may be TRUE."""
    if text is None:
        return symbol == "<=>" and (bounds is None or bounds.nulls != 0)
    if bounds is None:
        return True
    if bounds.is_all_null:
        return False
    target, value = literal_value(text, type_, bounds.type, zone)
    if (
        symbol in {"=", "<=>"}
        and bounds.has is not None
        and (target == bounds.type or target.kind in BITS)
        and not bounds.has(value)
    ):
        return False
    low = in_type(bounds.low, bounds.type, target)
    high = in_type(bounds.high, bounds.type, target)
    return not is_below(value, low, symbol) and not is_above(
        value, high, symbol, target.kind, is_cut=bounds.is_cut
    )


def is_below(value: Any, low: Any, symbol: str) -> bool:
    """Return whether a literal is below what a comparison needs of the least value."""
    if low is None or symbol not in {"=", "<=>", "<", "<="}:
        return False
    return bool(value < low or (symbol == "<" and value == low))


def is_above(value: Any, high: Any, symbol: str, kind: Kind, *, is_cut: bool) -> bool:
    """Return whether a literal is above what a comparison needs of the greatest value."""
    if high is None or symbol not in {"=", "<=>", ">", ">="}:
        return False
    if kind is Kind.DOUBLE and symbol in {">", ">="}:
        return False  # NaN is above all numbers, and in no bound.
    given = value[: len(high)] if is_cut else value
    return bool(given > high or (symbol == ">" and given == high and not is_cut))


def literal_value(text: str, type_: str, column: SparkType, zone: str) -> tuple[SparkType, Any]:
    """Return the type in which a literal and a column are compared, and the literal in it."""
    given = parse_type(type_)
    if given is None:
        raise UndecidableError(f"literals of type {type_} are not supported")
    target = common_type(column, given)
    is_alike = target.kind is column.kind or {target.kind, column.kind} <= NUMBERS
    if not is_alike and not {target.kind, column.kind} <= TIMES:
        raise UndecidableError(f"bounds of {column} are no bounds of {target}")
    if target.kind in TIMES and target.kind is not column.kind and zone:
        raise UndecidableError("an order between local times and instants depends on the zone")
    wanted = target._replace(zone=zone) if target.kind is Kind.TIMESTAMP else target
    known = given._replace(zone=zone) if given.kind is Kind.TIMESTAMP else given
    value = cast_between(STRING, known)(text)
    if given.kind is not target.kind or given != target:
        value = cast_between(known, wanted)(value)
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - only NaN differs from itself
        raise UndecidableError("NaN has no order")
    return target, value


def in_type(value: Any, source: SparkType, target: SparkType) -> Any:
    """Return a bound in another type whose order is the same; None stays None."""
    if value is None or source == target:
        return value
    return cast_between(source, target)(value)


def file_may_hold(
    where: Node, file: FileRow, schema: TableSchema, written: Callable[[FileRow], TableSchema]
) -> bool:
    """Return whether a file may hold rows of a condition, by its statistics.

    `written` returns the schema that a file was written with. A block has no bounds to look at.
    """
    if not file.stats or file.rows or where == TRUE:
        return True
    return may_hold(where, stats_bounds(file, schema, written(file)))
