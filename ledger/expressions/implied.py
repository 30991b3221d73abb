"""Conditions on partitions that follow from conditions on the columns they are made of.

Partition transforms have rules of their own (`transformed`). A generated column may divide a table
too. If `day` is `CAST(at AS DATE)`, a row with `at >= T` lies in the day of T or a later one. So a
read of such rows finds its partitions. The rule is for days and years. A day of an instant depends
on the time zone of the writer, which is not known: then a day more is read on both sides.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.core.limits import PREDICATE_CHARS_MAX
from ledger.core.predicates.time_zones import canonical_zone
from ledger.core.predicates.tree import (
    And,
    Call,
    Cast,
    ColumnRef,
    Compare,
    In,
    InZone,
    Literal,
    Node,
    Or,
    connected,
    judged,
)
from ledger.core.predicates.types import Kind, SparkType, parse_type
from ledger.expressions.bounds import MIRRORED, literal_value
from ledger.expressions.column_bounds import TOO_ODD
from ledger.expressions.parse import PredicateSyntaxError, parse
from ledger.expressions.transformed import on_transforms

ZONES: Final = timedelta(hours=18)
"""No time zone is further from UTC."""

DATE: Final = "date"
YEAR: Final = "year"


def with_implied(where: Node, schema: TableSchema) -> Node:
    """Return a condition, and what it says of generated columns and transforms that divide files.

    What would make it too long for a commit is left out.
    """
    columns = (schema.find(name) for name in schema.partition_columns)
    made = [
        *on_transforms(where, schema),
        *(
            part
            for column in columns
            if column is not None and column.generated
            for part in implied(where, column, schema)
        ),
    ]
    found = connected(And, [where, *made]) if made else where
    return found if len(found.to_wire()) <= PREDICATE_CHARS_MAX else where


def implied(where: Node, column: TableColumn, schema: TableSchema) -> Iterator[Node]:
    """Yield the conditions on a generated column that follow from another condition."""
    found = source_of(column.generated)
    source = None if found is None else schema.find(found[1])
    kind = None if source is None else parse_type(source.declared)
    if found is None or source is None or kind is None or kind.kind not in SPANS:
        return
    for zone, part in parts_of(where):
        try:
            made = following(part, source.name, (column.name, found[0]), kind, zone)
        except TOO_ODD:
            continue
        if made is not None:
            yield made


def source_of(text: str) -> tuple[str, str] | None:
    """Return what an expression takes of a time and of which column, None for another one."""
    try:
        tree = judged(parse(text))
    except PredicateSyntaxError:
        return None
    match tree:
        case Cast(ColumnRef(name), "date"):
            return DATE, name
        case Call("year", (ColumnRef(name),)):
            return YEAR, name
    return None


def parts_of(where: Node, zone: str = "") -> Iterator[tuple[str, Node]]:
    """Yield the conditions that all hold where another one does, with their time zones."""
    match judged(where):
        case And(parts):
            for part in parts:
                yield from parts_of(part, zone)
        case InZone(other, inner):
            yield from parts_of(inner, canonical_zone(other))
        case found:
            yield zone, found


def following(
    part: Node, source: str, made: tuple[str, str], kind: SparkType, zone: str
) -> Node | None:
    """Return what one condition says of a generated column, None if nothing is known."""
    match part:
        case In(ColumnRef(name), items) if name.lower() == source.lower():
            several = [
                following(Compare("=", ColumnRef(name), judged(each)), source, made, kind, zone)
                for each in items
            ]
            known = [each for each in several if each is not None]
            return connected(Or, known) if len(known) == len(several) else None
        case Compare(symbol, left, right):
            match judged(left), judged(right):
                case ColumnRef(name), Literal(str() as text, type_) if is_named(name, source):
                    pass
                case Literal(str() as text, type_), ColumnRef(name) if is_named(name, source):
                    symbol = MIRRORED.get(symbol, "")
                case _:
                    return None
            target, value = literal_value(text, type_, kind, zone)
            return compared(symbol, made, days_of(value, target.kind, kind.kind))
    return None


def is_named(name: str, source: str) -> bool:
    """Tell whether two names are one column."""
    return name.lower() == source.lower()


def days_of(value: Any, compared_as: Kind, source: Kind) -> tuple[date, date]:
    """Return the first and the last day in which a time may lie for its writer."""
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    margin = SPANS[source] or SPANS[compared_as]
    return (moment - margin).date(), (moment + margin).date()


def compared(symbol: str, made: tuple[str, str], days: tuple[date, date]) -> Node | None:
    """Return a comparison of a generated column with the days of a literal."""
    name, takes = made
    column = ColumnRef(name)
    low, high = (
        Literal(str(day), DATE) if takes == DATE else Literal(str(day.year), "int", is_number=True)
        for day in days
    )
    sides: Sequence[Node] = {
        "=": (Compare(">=", column, low), Compare("<=", column, high)),
        "<=>": (Compare(">=", column, low), Compare("<=", column, high)),
        "<": (Compare("<=", column, high),),
        "<=": (Compare("<=", column, high),),
        ">": (Compare(">=", column, low),),
        ">=": (Compare(">=", column, low),),
    }.get(symbol, ())
    return connected(And, sides) if sides else None


SPANS: Final = {Kind.DATE: timedelta(0), Kind.TIMESTAMP_NTZ: timedelta(0), Kind.TIMESTAMP: ZONES}
"""How far the day of a time lies from its day in UTC."""
