"""New fields of records, and which of them can be columns of a table."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledger.arrow.schema import TableSchema
from ledger.definitions.definitions import pair

NEW_TYPES: Final = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "STRING"}
UNREADABLE: Final = re.compile(r'["\\]')
"""What no name of a field may have that is read."""


def why_not_added(
    names: Sequence[str], fields: Mapping[str, Any], schema: TableSchema, unadded: Mapping[str, str]
) -> str:
    """Return why one of the new fields of a record cannot be a column, "" if all can.

    `names` are the new fields, `fields` all of them, and `unadded` has the columns that the table
    did not take, with the reasons.
    """
    small = [name.lower() for name in names]
    for name in names:
        if small.count(name.lower()) > 1:
            return f"the new field {name} is there twice, in other cases of letters"
        try:
            pair((name, "STRING"))
        except ValueError as problem:
            return f"a new field: {problem}"
        for reason in reasons_against(name, fields[name], schema):
            return reason
        if name in unadded:
            return f"the new field {name} cannot be a column: {unadded[name]}"
    return ""


def reasons_against(name: str, value: Any, schema: TableSchema) -> Iterator[str]:
    """Yield why a field cannot be a column."""
    if UNREADABLE.search(name):
        yield f"the new field {name} has a quote or a backslash in its name"
    if value is not None and schema.find(name):
        yield f"the new field {name} has the name of a column that is read elsewhere"
    if value is not None and type(value) not in NEW_TYPES:
        yield f"the new field {name} is no plain value: name its column"
