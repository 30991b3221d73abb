"""What the log says of the condition of a read, in tables that keep values out of the log.

A part that is left out counts as TRUE. So the read counts for more rows than it had, never for
less.
"""

from collections.abc import Iterator, Sequence

from ledger.core.commands import TableDefinition
from ledger.core.predicates.tree import (
    TRUE_PREDICATE,
    And,
    InZone,
    Node,
    Odd,
    Unknown,
    connected,
    node_of,
    read_wire,
    walked,
)
from ledger.properties.column_lists import SKIPPED, list_of
from ledger.properties.known_properties import asks_for_encryption


def recorded(where: str, definition: TableDefinition) -> str:
    """Return the wire form of a condition as a table lets the log have it.

    An encrypted table has no condition in the log. Of other tables the parts are left out that name
    a column of `lakeledger.statistics.skip`: they have values of the user, and often of rows.
    """
    if not definition.properties or where == TRUE_PREDICATE:
        return where
    if asks_for_encryption(definition):
        return TRUE_PREDICATE
    skipped = {each.column.lower() for each in list_of(definition, SKIPPED)}
    if not skipped:
        return where
    parts = list(parts_in(node_of(read_wire(where)[0])))
    kept = [part for part in parts if not names_any(part, skipped)]
    return where if len(kept) == len(parts) else connected(And, kept).to_wire()


def parts_in(where: Node, zones: Sequence[str] = ()) -> Iterator[Node]:
    """Yield the conditions that all hold where another one does, each in its time zones."""
    match where:
        case And(parts):
            for part in parts:
                yield from parts_in(part, zones)
        case InZone(zone, inner):
            yield from parts_in(inner, (zone, *zones))
        case part:
            for zone in zones:
                part = InZone(zone, part)
            yield part


def names_any(part: Node, columns: set[str]) -> bool:
    """Return whether a condition names one of some columns, or may read any column."""
    for node in walked(part):
        if isinstance(node, Odd) or (isinstance(node, Unknown) and node.names is None):
            return True
    return not columns.isdisjoint(name.lower() for name in part.columns())
