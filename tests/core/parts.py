"""Table parts file by file, in the words of the statements that make them.

A file is named by its path; a partition by its one value, as a table of one partition column has
it. What a statement leaves unsaid it did not do.
"""

import json
from collections.abc import Iterable
from typing import Any

from ledger.core.commands import Column, Footprint, Property, TableDefinition, TableWrite
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, next_digest, packed
from ledger.core.rows.changes import RowChanges
from tests.driver import definition

# Lists as they come off the wire; an operation changes data unless it is said not to.
NOTHING = EMPTY_FOOTPRINT._replace(
    reads=[], read_apps=[], adds=[], removes_in=[], data_change=True, domains=[], apps=[]
)

NO_ROWS = RowChanges([], [], b"", [], [])


def table_of(
    *columns: tuple[str, str], by: Iterable[str] = (), **properties: str
) -> TableDefinition:
    """Return a table of (name, type), partitioned by some; `__` in a property's key is a dot."""
    named = [Column(*each, nullable=True, id=at) for at, each in enumerate(columns, start=1)]
    said = [Property(key.replace("__", "."), text) for key, text in sorted(properties.items())]
    return definition()._replace(columns=named, partition_columns=list(by), properties=said)


def partition(*values: str | None) -> str:
    return json.dumps(list(values), separators=(",", ":"))


def equals(column: str, value: str, kind: str = "string") -> str:
    return json.dumps(["=", ["col", column], ["lit", value, kind]], separators=(",", ":"))


def above(column: str, value: str, kind: str = "int") -> str:
    """Return the predicate that a column is greater than a value."""
    return json.dumps([">", ["col", column], ["lit", value, kind]], separators=(",", ":"))


def footprint(
    operation: str = "WRITE", *, read: Iterable[str] = (), remove: Iterable[str] = (), **others: Any
) -> Footprint:
    """Return a footprint: the paths it read and removed, and fields of `Footprint` as they are."""
    return NOTHING._replace(
        operation=operation, read_files=packed(read), removes=packed(remove), **others
    )


def part(table: int, operation: str = "WRITE", *, read_at: int = 0, **others: Any) -> TableWrite:
    return TableWrite(table, read_at, [], footprint(operation, **others))


def after(chunks: Iterable[Footprint], last: Footprint) -> Footprint:
    """Return the last chunk of several, which names those before."""
    digest, count = b"", 0
    for chunk in chunks:
        digest, count = next_digest(digest, chunk), count + 1
    return last._replace(staged=count, digest=digest)
