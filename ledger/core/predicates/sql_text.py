"""Predicates as Spark SQL, for messages: a conflict shows the predicate that matched."""

import json
import re
from typing import Final

from ledger.core.predicates.tree import (
    And,
    Arithmetic,
    Call,
    Cast,
    ColumnRef,
    Compare,
    In,
    InZone,
    IsNull,
    Like,
    Literal,
    Negative,
    Node,
    Not,
    Or,
    RowForm,
    Unknown,
    judged,
    of_wire,
)
from ledger.core.predicates.types import number_type

# A sign, at most one point, no exponent: Spark reads such a text as a number of the same type.
PLAIN_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{0,40})?")
QUOTES: Final = {"\\": "\\\\", "'": "\\'"}

RESERVED: Final = """
all alter analyze and any anti array as asc at authorization between both by cache call case
cast check collate column constraint create cross current_catalog current_database current_date
current_schema current_time current_timestamp current_user delete desc describe distinct div
drop else end escape except execute exists explain extract false fetch filter for foreign from
full glob grant group grouping grouping__id having if ilike in inner insert intersect interval
into is isnull join lateral leading left like limit localtime localtimestamp map merge minus
natural not notnull null offset on only optimize or order outer over overlaps partitioned_by
position prepare primary qualify references refresh regexp rename replace returning revoke right
rlike rollback select semi serdeproperties session_user set show some sql struct table
tablesample then time to trailing trim true truncate uncache union unique unknown update user
using vacuum values when where window with within xor
"""
WORDS: Final = frozenset(RESERVED.split())
"""Words that may mean something else than a column."""


def sql_of(text: str) -> str:
    """Return the Spark SQL of a predicate in wire form; any other text is returned unchanged."""
    try:
        return sql_of_node(of_wire(text))
    except (ValueError, TypeError):
        return text


def sql_of_node(node: Node) -> str:  # noqa: C901, PLR0911, PLR0912 - a case for each form
    """Return the SQL of a node, as it is judged; raises TypeError for what is no condition."""
    match node:
        case And(parts):
            return " AND ".join(map(operand, parts))
        case Or(parts):
            return " OR ".join(map(operand, parts))
        case Not(IsNull(value)):
            return f"{operand(value)} IS NOT NULL"
        case Not(value):
            return f"NOT {operand(value)}"
        case IsNull(value):
            return f"{operand(value)} IS NULL"
        case Negative(Literal() as value):
            # A second sign before a number would begin a comment.
            return f"-({sql_of_node(value)})"
        case Negative(value):
            return f"-{operand(value)}"
        case In(value, items):
            return f"{operand(value)} IN ({', '.join(map(sql_of_node, items))})"
        case Cast(value, type_):
            return f"CAST({sql_of_node(value)} AS {type_.upper()})"
        case Call(name, arguments):
            return f"{name}({', '.join(map(sql_of_node, arguments))})"
        case Literal(text, type_):
            return literal_sql(text, type_)
        case ColumnRef(name):
            return identifier(name)
        case Unknown(sql):
            return sql
        case InZone(zone, value):
            # Spark SQL has no syntax for the time zone of an expression.
            return f"{operand(value)} /* in time zone {json.dumps(zone)[1:-1]} */"
        case Compare(symbol, left, right) | Arithmetic(symbol, left, right):
            return f"{operand(left)} {symbol} {operand(right)}"
        case Like(value, pattern):
            return f"{operand(value)} LIKE {operand(pattern)}"
        case RowForm(form):
            return sql_of_node(form)
    raise TypeError(f"{node} is no condition")


def operand(node: Node) -> str:
    """Return the SQL of a node, in brackets unless it is a constant, column, cast or call."""
    sql = sql_of_node(node)
    return sql if isinstance(judged(node), Literal | ColumnRef | Cast | Call) else f"({sql})"


def literal_sql(text: str | None, type_: str) -> str:
    """Return a constant: plain if its form implies its type, else with a cast or type name."""
    if text is None:
        return "NULL" if type_ == "void" else f"CAST(NULL AS {type_.upper()})"
    if type_ == "boolean" and text in {"true", "false"}:
        return text.upper()
    if PLAIN_NUMBER.fullmatch(text) and str(number_type(text)) == type_:
        return text
    if type_ in {"date", "timestamp", "timestamp_ntz"}:
        return f"{type_.upper()} {quoted(text)}"
    return quoted(text) if type_ == "string" else f"CAST({quoted(text)} AS {type_.upper()})"


def quoted(text: str) -> str:
    """Return a text as a literal of Spark SQL."""
    return "'" + "".join(QUOTES.get(character, character) for character in text) + "'"


def identifier(name: str) -> str:
    """Return a column's name, quoted unless it is a plain word without a meaning in SQL."""
    is_plain = name.isidentifier() and name.isascii() and name.lower() not in WORDS
    return name if is_plain else f"`{name.replace('`', '``')}`"
