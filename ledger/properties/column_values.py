"""What a definition says of the values of a column: its default, its expression, its numbers.

It stands in the metadata of the column. Delta's names are used where Delta has the property.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from ledger.core.commands import Column
from ledger.core.conflicts.metadata_diff import column_metadata

DEFAULT: Final = "CURRENT_DEFAULT"
"""Under this key a column has the SQL of its default, as Spark and Delta have it."""

INITIAL: Final = "lakeledger.initialDefault"
"""Under this key a column has the text of its value in files from before the column was added."""


GENERATED: Final = "delta.generationExpression"
"""Under this key a generated column has its expression over other columns."""


def generation_of(column: Column) -> str:
    """Return the expression of a generated column, "" for another column."""
    return str(column_metadata(column).get(GENERATED, "")) if GENERATED in column.metadata else ""


def default_of(column: Column) -> str:
    """Return the SQL of a column's default, "" without one."""
    return str(column_metadata(column).get(DEFAULT, "")) if DEFAULT in column.metadata else ""


def initial_of(column: Column) -> str | None:
    """Return the text of a column's value in files that lack the column, None for NULL."""
    found = column_metadata(column).get(INITIAL) if INITIAL in column.metadata else None
    return found if isinstance(found, str) else None


def has_values(column: Column) -> bool:
    """Return whether a column has values that its definition gives."""
    return any(key in column.metadata for key in (DEFAULT, INITIAL, GENERATED))


def with_values(column: Column, changes: Mapping[str, Any]) -> Column:
    """Return a column with other entries of its metadata; None takes an entry away."""
    if not changes:
        return column
    metadata = {**column_metadata(column), **changes}
    kept = {key: each for key, each in metadata.items() if each is not None}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False) if kept else ""
    return column._replace(metadata=text)
