"""Rows of a table as texts: for programs as JSON, for people as cells."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any


def json_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as lines, each a JSON object."""
    return "\n".join(json.dumps(json_value(row), ensure_ascii=False) for row in rows)


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: as a number, else as a text that loses nothing.

    Bytes are in base64; a map is a list of pairs, since its keys may be of any type.
    """
    if isinstance(value, Decimal | timedelta) or (isinstance(value, float) and not isfinite(value)):
        return str(value)
    match value:
        case Mapping():
            return {name: json_value(each) for name, each in value.items()}
        case list() | tuple():
            return [json_value(each) for each in value]
        case bytes():
            return b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return value


def cell(value: Any) -> str:
    """Return a value as people read it; NULL is not the text of that name."""
    if value is None:
        return "NULL"
    found = json_value(value)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
