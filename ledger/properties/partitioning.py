"""How a table is divided, as its user writes it: columns, and transforms in any known spelling.

A transform has the names that Spark SQL and Iceberg give it, such as `days(at)`, `day(at)` and
`bucket(16, id)`; a definition has one spelling of each. A transform follows its column when that is
renamed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ledger.core.commands import Column, TableDefinition
from ledger.core.partitions.transforms import (
    WIDTH_MAX,
    PartitionTransform,
    TransformKind,
    transforms_of,
)

CALL: Final = re.compile(r"\s*(?P<name>\w+)\s*\((?P<inside>.*)\)\s*", re.DOTALL)
INSIDE: Final = re.compile(
    r"\s*(?:(?P<before>[0-9]+)\s*,\s*)?(?:(?P<plain>\w+)|`(?P<quoted>(?:[^`]|``)+)`)"
    r"\s*(?:,\s*(?P<behind>[0-9]+)\s*)?"
)
NAMES: Final[Mapping[str, TransformKind]] = {
    **dict.fromkeys(("years", "year"), "years"),
    **dict.fromkeys(("months", "month"), "months"),
    **dict.fromkeys(("days", "day", "date"), "days"),
    **dict.fromkeys(("hours", "hour", "date_hour"), "hours"),
    "bucket": "bucket",
    **dict.fromkeys(("truncate", "trunc"), "truncate"),
}
WITH_WIDTH: Final = frozenset({"bucket", "truncate"})


def divided_by(names: Iterable[str], columns: Sequence[Column]) -> list[str]:
    """Return partition columns with each transform in its one spelling.

    A text that is the name of a column is that column, and any other text stays as it is. Raises
    ValueError for a transform with a wrong width.
    """
    known = {column.name.lower(): column.name for column in columns}
    return [each if each.lower() in known else spelled(each, known) for each in names]


def spelled(text: str, columns: Mapping[str, str]) -> str:
    """Return the one spelling of a transform, any other text as it is; raises ValueError.

    `columns` are the names of the table's columns by their lower case.
    """
    call = CALL.fullmatch(text)
    kind = None if call is None else NAMES.get(call["name"].lower())
    found = None if call is None or kind is None else INSIDE.fullmatch(call["inside"])
    if kind is None or found is None:
        return text
    width = found["before"] or found["behind"] or ""
    is_twice = found["before"] is not None and found["behind"] is not None
    if is_twice or bool(width) is not (kind in WITH_WIDTH):
        wanted = "one width and a column" if kind in WITH_WIDTH else "a column alone"
        raise ValueError(f"the partition transform {kind} must have {wanted}, got {text!r}")
    if width and not 1 <= int(width) <= WIDTH_MAX:
        raise ValueError(
            f"the width of a partition transform must be 1 to {WIDTH_MAX}, got {text!r}"
        )
    column = found["plain"] or found["quoted"].replace("``", "`")
    return PartitionTransform(kind, columns.get(column.lower(), column), int(width or 0)).text


def followed_by_transforms(before: TableDefinition, after: TableDefinition) -> TableDefinition:
    """Return a changed definition whose transforms name their columns as they are called now."""
    transforms = transforms_of(before)
    if not transforms or list(before.columns) == list(after.columns):
        return after
    now = {column.id: column.name for column in after.columns if column.id}
    names = {column.name.lower(): now.get(column.id, column.name) for column in before.columns}
    made = [
        transforms[each]._replace(column=names[transforms[each].column.lower()]).text
        if each in transforms
        else each
        for each in after.partition_columns
    ]
    return after._replace(partition_columns=made)
