"""Which types become wider ones in Delta: its readers cast the values of older files.

Types are compared by Delta's names, without Arrow: a client that changes a definition may lack it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ledger.core.commands import TableDefinition

WIDER: Final[Mapping[str, frozenset[str]]] = {
    "byte": frozenset({"short", "integer", "long", "double"}),
    "short": frozenset({"integer", "long", "double"}),
    "integer": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
    "date": frozenset({"timestamp_ntz"}),
}
NAMES: Final[Mapping[str, str]] = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
}
DECIMAL: Final = re.compile(r"decimal\((\d+)(?:,(\d+))?\)")
DECIMAL_DEFAULT: Final = "decimal(10,0)"


def is_wider(old: Any, new: Any) -> bool:
    """Return whether readers of a type may be given the values of another."""
    if not (isinstance(old, str) and isinstance(new, str)):
        return False
    if new in WIDER.get(old, ()):
        return True
    digits = [each[8:-1].split(",") for each in (old, new) if each.startswith("decimal(")]
    if len(digits) == len((old, new)):
        (precision, scale), (wider, longer) = ([*map(int, each)] for each in digits)
        return longer >= scale and wider - longer >= precision - scale
    return False


def delta_name(kind: str) -> str:
    """Return Delta's name of a Spark SQL type; a type of several parts stays as it is."""
    plain = re.sub(r"\s", "", kind.lower())
    word = plain.partition("(")[0]
    named = NAMES.get(word, word) + plain[len(word) :]
    if named == "decimal":
        return DECIMAL_DEFAULT
    found = DECIMAL.fullmatch(named)
    return f"decimal({found[1]},{found[2] or 0})" if found else named


def widens(before: TableDefinition, after: TableDefinition) -> bool:
    """Return whether a column of a table becomes wider."""
    kinds = {each.id: delta_name(each.type) for each in before.columns if each.id}
    named = ((kinds.get(each.id), delta_name(each.type)) for each in after.columns)
    return any(old != new and is_wider(old, new) for old, new in named)
