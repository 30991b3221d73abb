"""Identity columns: each row gets a number that no other row of the table has."""

from collections.abc import Iterable
from typing import Final

from ledger.arrow.schema import TableSchema
from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import IDENTITY_MARK
from ledger.core.predicates.types import Kind, parse_type
from ledger.properties.column_values import (
    Numbering,
    default_of,
    generation_of,
    identity_of,
    with_values,
)

LAYOUT: Final = "directories"


def check_numbered(schema: TableSchema, given: Iterable[str], verb: str = "insert") -> None:
    """Raise ValueError for values of their own in an identity column that takes none.

    An update takes none in any identity column, so that a number stays with its row.
    """
    for name in given:
        column = schema.find(name)
        found = None if column is None else column.identity
        if found is not None and (verb == "update" or not found.is_explicit):
            raise ValueError(
                f"column {name} of table {schema.name} is an identity column, whose numbers the "
                f"ledger gives, and the {verb} has values for it: leave the column out"
            )


def with_marks(
    name: str, before: TableDefinition | None, after: TableDefinition
) -> TableDefinition:
    """Return a definition whose identity columns go on behind all numbers that were taken.

    `name` is the table's. Raises ValueError for an identity column that a table cannot have.
    """
    known = {} if before is None else {column.id: column for column in before.columns}
    columns = []
    for column in after.columns:
        found = identity_of(column)
        was = known.get(column.id)
        then = None if was is None else identity_of(was)
        if found is not None:
            check_identity(name, column, found)
            if known and (then is None or then[:2] != found[:2]):
                raise ValueError(
                    f"column {column.name} of table {name} cannot become an identity column, or "
                    "one with other numbers, because present rows have other values there: create "
                    "a table with it, and insert the rows there"
                )
        if found is not None and then is not None and then.mark is not None:
            column = with_values(column, {IDENTITY_MARK: further(then, found)})  # noqa: PLW2901
        columns.append(column)
    return after._replace(columns=columns)


def check_identity(table: str, column: Column, found: Numbering) -> None:
    """Raise ValueError for an identity column of another type, or with other values as well."""
    kind = parse_type(column.type)
    if kind is None or kind.kind is not Kind.BIGINT:
        raise ValueError(
            f"the identity column {column.name} of table {table} must be BIGINT, got {column.type}"
        )
    if not found.step:
        raise ValueError(
            f"the identity column {column.name} of table {table} must be incremented by another "
            "number than 0, got 0"
        )
    if generation_of(column) or default_of(column):
        raise ValueError(
            f"column {column.name} of table {table} must be an identity column alone, got an "
            "expression or a default as well"
        )


def further(then: Numbering, found: Numbering) -> int | None:
    """Return the mark behind which no number of either was taken."""
    marks = [each.mark for each in (then, found) if each.mark is not None]
    return max(marks, key=lambda mark: (mark - then.start) // then.step, default=None)
