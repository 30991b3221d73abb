"""Rows as texts that are alike whichever client read them.

Only the standard library is imported: Spark's client runs in an environment of its own.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any


def texts(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return rows as texts, sorted; columns go by their names."""
    return sorted(text_of(row) for row in rows)


def text_of(value: Any) -> str:
    """Return a value as text; structs and maps are alike, times are in UTC."""
    if isinstance(value, Mapping):
        pairs = sorted((str(key), text_of(each)) for key, each in value.items())
        return "{" + ", ".join(f"{key}: {each}" for key, each in pairs) + "}"
    if isinstance(value, list | tuple):
        if value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
            return text_of(dict(value))  # Arrow has a map as a list of pairs.
        return "[" + ", ".join(map(text_of, value)) + "]"
    return plain_text(value)


def plain_text(value: Any) -> str:
    """Return the text of a value without parts."""
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value.normalize())
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return repr(value)
