"""What a definition says of the values of a column: its default, its expression, its numbers.

It stands in the metadata of the column. Delta's names are used where Delta has the property.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import IDENTITY_MARK, column_metadata

DEFAULT: Final = "CURRENT_DEFAULT"
"""Under this key a column has the SQL of its default, as Spark and Delta have it."""

COMMENT: Final = "comment"
"""Under this key a column has words on it, as Spark and Delta have them."""

INITIAL: Final = "lakeledger.initialDefault"
"""Under this key a column has the text of its value in files from before the column was added."""


GENERATED: Final = "delta.generationExpression"
"""Under this key a generated column has its expression over other columns."""

IDENTITY: Final = "delta.identity."
START: Final = f"{IDENTITY}start"
STEP: Final = f"{IDENTITY}step"
EXPLICIT: Final = f"{IDENTITY}allowExplicitInsert"
WHOLE: Final = range(-(1 << 63), 1 << 63)
"""The numbers that a column of type BIGINT holds."""


class Numbering(NamedTuple):
    """The numbers of an identity column: the first one, and by how much the next one differs.

    `mark` is the last number that a writer has taken, None before the first. `is_explicit` says
    that rows may have numbers of their own.
    """

    start: int
    step: int
    mark: int | None = None
    is_explicit: bool = False

    def following(self, count: int) -> range:
        """Return the next numbers; raises ValueError behind the last one of BIGINT."""
        past = 0 if self.mark is None else (self.mark - self.start) // self.step + 1
        first = self.start + past * self.step
        found = range(first, first + count * self.step, self.step)
        if not (found[0] in WHOLE and found[-1] in WHOLE):
            raise ValueError(
                f"an identity column must have numbers of BIGINT, and there are no {count} more "
                f"behind {self.mark}: copy the rows into a new table"
            )
        return found

    def entries(self) -> Mapping[str, Any]:
        """Return the entries of metadata under which a column has these numbers."""
        plain = {START: self.start, STEP: self.step, EXPLICIT: self.is_explicit}
        return plain if self.mark is None else {**plain, IDENTITY_MARK: self.mark}


def identity_of(column: Column) -> Numbering | None:
    """Return the numbers of an identity column, None for another column."""
    if IDENTITY not in column.metadata:
        return None
    known = column_metadata(column)
    if START not in known:
        return None
    mark = known.get(IDENTITY_MARK)
    return Numbering(
        int(known[START]),
        int(known.get(STEP, 1)),
        None if mark is None else int(mark),
        known.get(EXPLICIT) is True,
    )


def raised(definition: TableDefinition, column: int, count: int) -> tuple[TableDefinition, range]:
    """Return a definition in which a writer has taken numbers of a column, and these numbers.

    Raises ValueError if the column of this id is no identity column any more.
    """
    known = {each.id: each for each in definition.columns}
    found = identity_of(known[column]) if column in known else None
    if found is None:
        raise ValueError(f"column {column} is no identity column now: look the table up again")
    taken = found.following(count)
    made = with_values(known[column], {IDENTITY_MARK: taken[-1]})
    columns = [made if each.id == column else each for each in definition.columns]
    return definition._replace(columns=columns), taken


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
    return any(key in column.metadata for key in (DEFAULT, INITIAL, GENERATED, IDENTITY))


def with_values(column: Column, changes: Mapping[str, Any]) -> Column:
    """Return a column with other entries of its metadata; None takes an entry away."""
    if not changes:
        return column
    metadata = {**column_metadata(column), **changes}
    kept = {key: each for key, each in metadata.items() if each is not None}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False) if kept else ""
    return column._replace(metadata=text)


def comment_of(column: Column) -> str:
    """Return the words on a column, "" without any."""
    return str(column_metadata(column).get(COMMENT, "")) if COMMENT in column.metadata else ""


def described(column: Column) -> str:
    """Return a column in a line: its name, its type and the words on it."""
    words = comment_of(column)
    return f"{column.name} {column.type}{words and f': {words}'}"
