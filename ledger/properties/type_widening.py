"""Which types become wider ones in Delta: its readers cast the values of older files.

Types are compared by Delta's names, without Arrow: a client that changes a definition may lack it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ledger.core.commands import TableDefinition
from ledger.core.predicates.types import BY_NAME, Kind, parse_type

WIDER: Final[Mapping[str, frozenset[str]]] = {
    "byte": frozenset({"short", "integer", "long", "double"}),
    "short": frozenset({"integer", "long", "double"}),
    "integer": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
    "date": frozenset({"timestamp_ntz"}),
}


def is_wider(old: Any, new: Any) -> bool:
    """Return whether readers of a type may be given the values of another."""
    if not (isinstance(old, str) and isinstance(new, str)):
        return False
    if new in WIDER.get(old, ()):
        return True
    before, after = parse_type(old), parse_type(new)
    if before is None or after is None or not before.kind is after.kind is Kind.DECIMAL:
        return False
    whole = after.precision - after.scale >= before.precision - before.scale
    return whole and after.scale >= before.scale


def delta_name(kind: str) -> str:
    """Return Delta's name of a Spark SQL type; a type of several parts stays as it is."""
    plain = re.sub(r"\s", "", kind.lower())
    found, word = parse_type(plain), plain.partition("(")[0]
    if found is not None and found.kind is Kind.DECIMAL:
        return str(found)
    return BY_NAME[word].delta + plain[len(word) :] if word in BY_NAME else plain


def widens(before: TableDefinition, after: TableDefinition) -> bool:
    """Return whether a column of a table becomes wider."""
    kinds = {column.id: delta_name(column.type) for column in before.columns if column.id}
    named = ((kinds.get(column.id), delta_name(column.type)) for column in after.columns)
    return any(old != new and is_wider(old, new) for old, new in named)
