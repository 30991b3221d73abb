"""Tables whose rows another writer does not check or compute: their files are refused by name.

The ledger's own statements check constraints and keys, and compute columns. An engine that writes
through Iceberg knows nothing of them.
"""

from collections.abc import Iterator
from typing import Final

from ledger.core.commands import Column, TableDefinition
from ledger.core.predicates.types import Kind, parse_type
from ledger.iceberg.manifests.rows import ManifestEntry
from ledger.iceberg.values import unpacked
from ledger.properties.column_values import generation_of, identity_of
from ledger.properties.known_properties import APPEND_ONLY, asks_for_unique, constraints_of
from projections.iceberg.commits.given_json import shown
from projections.iceberg.errors import bad_request

INVARIANT: Final = "delta.invariants"
NARROW: Final = {Kind.TINYINT: 1 << 7, Kind.SMALLINT: 1 << 15}
"""Types that clients see as `int`, and the first number that each does not hold."""

SDK: Final = "write it with the ledger's own statements"
SIZED: Final = ("varchar", "char")


def check_may_add(name: str, definition: TableDefinition) -> None:
    """Raise IcebergRefusal for a table whose new rows another writer does not check."""
    for why in reasons_against_rows(definition):
        raise bad_request(f"the table {name} {why}, which a writer through Iceberg does not: {SDK}")


def reasons_against_rows(definition: TableDefinition) -> Iterator[str]:
    """Yield what a writer of new rows would have to do."""
    for constraint in constraints_of(definition):
        yield f"asks its writers to check the constraint {constraint}"
    if asks_for_unique(definition):
        yield "asks its writers to keep its key unique"
    for column in definition.columns:
        if generation_of(column) or identity_of(column) is not None:
            yield f"asks its writers to compute the column {column.name}"
        if INVARIANT in column.metadata:
            yield f"asks its writers to check the column {column.name}"
        if column.type.lower().startswith(SIZED) or is_narrow_within(column):
            yield (
                f"asks its writers to check the size of values in column {column.name} of type "
                f"{column.type}"
            )


def is_narrow_within(column: Column) -> bool:
    """Return whether a nested type has parts that are smaller than clients see them."""
    text = column.type.lower()
    return "<" in text and any(word in text for word in ("tinyint", "smallint", *SIZED))


def check_may_remove(name: str, definition: TableDefinition) -> None:
    """Raise IcebergRefusal for a table whose rows are only ever appended to."""
    for key, value in definition.properties:
        if key.lower() == APPEND_ONLY and value.lower() == "true":
            raise bad_request(
                f"the table {name} has {key} = {value}, so its rows stay as they are: append rows, "
                "or unset the property"
            )


def check_values(definition: TableDefinition, entry: ManifestEntry) -> None:
    """Raise IcebergRefusal for a file with values that a column cannot hold.

    So is a file of which that is not known: its bounds say it.
    """
    nulls = entry.null_value_counts or {}
    for column in definition.columns:
        count = nulls.get(column.id)
        if not column.nullable and count:
            raise bad_request(
                f"column {column.name} must have no NULL, got {count} in {shown(entry.path)}"
            )
        type_ = parse_type(column.type)
        end = NARROW.get(type_.kind) if type_ is not None else None
        if end is None or count == entry.record_count:
            continue
        for bounds in (entry.lower_bounds, entry.upper_bounds):
            data = (bounds or {}).get(column.id)
            value = None if data is None else unpacked(data, "int")
            if value is None or not -end <= value < end:
                found = "no bounds" if value is None else value
                raise bad_request(
                    f"column {column.name} is {column.type}, so its values must be below {end}, "
                    f"got {found} in {shown(entry.path)}: widen the column, or write with bounds"
                )
