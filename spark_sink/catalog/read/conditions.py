"""Conditions of DELETE and of overwrites: Spark's trees as SQL of the ledger.

Spark gives literals as their internal values: dates as days, times as microseconds since 1970.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from ledger.core.predicates.tree import Node
from ledger.expressions.parse import parse

Tree = Mapping[str, Any]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY: Final = date(1970, 1, 1)
COMPARED: Final = {
    "=": "=",
    "<>": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "<=>": "<=>",
}
TESTED: Final = {"IS_NULL": "IS NULL", "IS_NOT_NULL": "IS NOT NULL"}
JOINED: Final = {"AND": "AND", "OR": "OR"}


class NotUnderstoodError(Exception):
    """A condition has a part that cannot be said exactly."""


def condition_of(trees: Sequence[Tree]) -> Node | None:
    """Return the conjunction of conditions, None for none; raises NotUnderstoodError."""
    try:
        sql = " AND ".join(f"({said(each)})" for each in trees)
    except (ValueError, OverflowError) as problem:
        raise NotUnderstoodError from problem
    return parse(sql) if sql else None


def is_understood(trees: Sequence[Tree]) -> bool:
    """Return whether conditions can be said exactly."""
    try:
        condition_of(trees)
    except NotUnderstoodError:
        return False
    return True


def said(tree: Tree) -> str:  # noqa: PLR0911 - a case for each form
    """Return a condition, or a part of it, as SQL; raises NotUnderstoodError."""
    if "column" in tree:
        if len(tree["column"]) != 1:
            raise NotUnderstoodError
        return quoted(tree["column"][0])
    if "type" in tree:
        return literal(tree["type"], tree["value"])
    op, args = tree["op"], [said(each) for each in tree["args"]]
    if op in COMPARED:
        return f"({args[0]} {COMPARED[op]} {args[1]})"
    if op in TESTED:
        return f"({args[0]} {TESTED[op]})"
    if op in JOINED:
        return f"({args[0]} {JOINED[op]} {args[1]})"
    if op == "NOT":
        return f"(NOT {args[0]})"
    if op == "IN" and len(args) > 1:
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    if op in ("ALWAYS_TRUE", "ALWAYS_FALSE"):
        return "TRUE" if op == "ALWAYS_TRUE" else "FALSE"
    raise NotUnderstoodError


def literal(kind: str, value: str | None) -> str:
    """Return a literal as SQL."""
    if value is None:
        return "NULL"
    word = kind.partition("(")[0].upper()
    spell = SPELLED.get(word)
    if spell is None:
        raise NotUnderstoodError
    return spell(value)


def text(value: str) -> str:
    """Return a text as SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    """Return the name of a column as SQL."""
    return "`" + name.replace("`", "``") + "`"


def instant(value: str) -> str:
    """Return an instant as SQL, with its zone."""
    moment = EPOCH + timedelta(microseconds=int(value))
    return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(' ')}Z'"


def wall_time(value: str) -> str:
    """Return a time without a zone as SQL."""
    moment = (EPOCH + timedelta(microseconds=int(value))).replace(tzinfo=None)
    return f"TIMESTAMP_NTZ '{moment.isoformat(' ')}'"


def day(value: str) -> str:
    """Return a date as SQL."""
    return f"DATE '{(FIRST_DAY + timedelta(days=int(value))).isoformat()}'"


def number(suffix: str) -> Callable[[str], str]:
    """Return a function that says a number of a type."""
    return lambda value: f"{value}{suffix}"


SPELLED: Final[Mapping[str, Callable[[str], str]]] = {
    "STRING": text,
    "BOOLEAN": str,
    "TINYINT": number("Y"),
    "SMALLINT": number("S"),
    "INT": number(""),
    "BIGINT": number("L"),
    "DECIMAL": number("BD"),
    "DATE": day,
    "TIMESTAMP": instant,
    "TIMESTAMP_NTZ": wall_time,
}
