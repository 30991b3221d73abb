"""CAST with the rules of Spark SQL's ANSI mode, as DuckDB's SQL.

A text is checked against Spark's forms first, because DuckDB reads more of them, and others.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.types import Family, family_of
from ledger.core.predicates.casts import SPACES, cast_between
from ledger.core.predicates.types import STRING as SPARK_STRING
from ledger.core.predicates.types import Kind, UndecidableError
from ledger.expressions.duckdb.terms import (
    DOUBLE,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    SqlTerm,
    duck_type,
    failing,
    is_floating,
    made,
    refused,
    spark_type,
    string,
    type_name,
)
from ledger.expressions.duckdb.zones import instant_of, local_of
from ledger.expressions.parse import PredicateSyntaxError

EXACT_DIGITS: Final = 15
"""A decimal with at most so many digits is one division of two exact doubles."""

WHOLE: Final = "[+-]?[0-9]{1,40}"
NUMBER: Final = r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?"
DAY: Final = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
TIME: Final = rf"{DAY}([ T][0-9]{{1,2}}:[0-9]{{1,2}}:[0-9]{{1,2}}(\.[0-9]{{1,6}})?)?"
FORMS: Final[dict[Family, str]] = {
    Family.WHOLE: WHOLE,
    Family.DECIMAL: NUMBER,
    Family.FLOATING: rf"{NUMBER}|(?i:[+-]?inf(inity)?|nan)",
    Family.DATE: DAY,
    Family.TIMESTAMP: TIME,
    Family.TIMESTAMP_NTZ: TIME,
}
TRUE_WORDS: Final = "('t', 'true', 'y', 'yes', '1')"
FALSE_WORDS: Final = "('f', 'false', 'n', 'no', '0')"
# Days that both engines write with four digits of the year.
PLAIN_DAYS: Final = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"


def cast(term: SqlTerm, target: pa.DataType, zone: str) -> SqlTerm:
    """Return a value cast as Spark casts it in a session time zone, "" = UTC.

    Raises PredicateSyntaxError for a cast that Spark refuses, or that is not supported.
    """
    if term.type == target:
        return term
    if term.type == NULL:
        return SqlTerm(f"CAST(NULL AS {duck_type(target)})", target)
    if term.text is not None:
        return cast_literal(term.text, target, zone)
    found = CASTS.get((family_of(term.type), family_of(target)))
    if found is None:
        raise refused(f"CAST({type_name(term.type)} AS {type_name(target)})")
    return found(term, target, zone)


def cast_literal(text: str, target: pa.DataType, zone: str) -> SqlTerm:
    """Return the value of a literal string; raises PredicateSyntaxError if it has none."""
    kind = spark_type(target)
    if kind is None or is_floating(target):
        return from_text(SqlTerm(string(text), STRING), target, zone)
    wanted = kind._replace(zone=zone) if kind.kind is Kind.TIMESTAMP else kind
    try:
        value = cast_between(SPARK_STRING, wanted)(text)
    except (UndecidableError, ArithmeticError, LookupError, ValueError) as problem:
        raise PredicateSyntaxError(f"'{text}' is no {type_name(target)}: {problem}") from problem
    return literal(value, target)


def literal(value: Any, type_: pa.DataType) -> SqlTerm:  # noqa: PLR0911 - one case for each type
    """Return the term of a value; an instant is in UTC and has no zone, as in the core."""
    match value:
        case bool():
            return SqlTerm(str(value).upper(), type_)
        case str():
            return SqlTerm(string(value), type_, text=value)
        case datetime():
            mark = "+00" if type_ == TIMESTAMP else ""
            moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return SqlTerm(f"{duck_type(type_)} '{moment.isoformat(' ')}{mark}'", type_)
        case date():
            return SqlTerm(f"DATE '{value.isoformat()}'", type_)
        case Decimal():
            return SqlTerm(f"CAST('{value:f}' AS {duck_type(type_)})", type_)
        case float():
            return SqlTerm(f"CAST('{value!r}' AS {duck_type(type_)})", type_)
    return SqlTerm(f"CAST({value} AS {duck_type(type_)})", type_)


def plainly(term: SqlTerm, target: pa.DataType, _zone: str, *, may_fail: bool = True) -> SqlTerm:
    """Return the cast as DuckDB does it; it fails where the value does not fit."""
    return made(f"CAST({term.sql} AS {duck_type(target)})", target, term, may_fail=may_fail)


def integer_cast(term: SqlTerm, target: pa.DataType, zone: str) -> SqlTerm:
    """Return a whole number as another type; a wider one has room for it."""
    return plainly(term, target, zone, may_fail=target.bit_width < term.type.bit_width)


def cut(term: SqlTerm, target: pa.DataType, _zone: str) -> SqlTerm:
    """Return a number without its fraction."""
    sql = f"CAST(trunc({term.sql}) AS {duck_type(target)})"
    return made(sql, target, term, may_fail=True)


def floating(term: SqlTerm, target: pa.DataType, _zone: str) -> SqlTerm:
    """Return the nearest double of a decimal; through its text if it has many digits."""
    inner = term.sql
    if term.type.precision > EXACT_DIGITS or target != DOUBLE:
        inner = f"CAST({inner} AS VARCHAR)"
    return made(f"CAST({inner} AS {duck_type(target)})", target, term)


def truth(term: SqlTerm, target: pa.DataType, _zone: str) -> SqlTerm:
    """Return whether a number is not zero."""
    return made(f"({term.sql} <> 0)", target, term)


def text_of_time(term: SqlTerm, target: pa.DataType, zone: str) -> SqlTerm:
    """Return a date or a timestamp as text, if its year has four digits."""
    local = local_of(term.sql, zone) if term.type == TIMESTAMP else term.sql
    guard = f"WHEN CAST({local} AS DATE) {PLAIN_DAYS} THEN CAST({local} AS VARCHAR)"
    message = f"a {type_name(term.type)} with a year outside 1 to 9999 cannot be cast to STRING"
    sql = f"CASE WHEN {local} IS NULL THEN NULL {guard} ELSE {failing(message)} END"
    return made(sql, target, term, may_fail=True)


def from_text(term: SqlTerm, target: pa.DataType, zone: str) -> SqlTerm:
    """Return the value of a text that has one of Spark's forms; other texts fail."""
    trimmed = f"trim({term.sql}, {spaces()})"
    form = FORMS.get(family_of(target))
    if form is None:
        raise refused(f"CAST(STRING AS {type_name(target)})")
    inner = duck_type(TIMESTAMP_NTZ if target == TIMESTAMP else target)
    value = f"CAST({trimmed} AS {inner})"
    if target == TIMESTAMP:
        value = instant_of(value, zone)
    sql = (
        f"CASE WHEN {term.sql} IS NULL THEN NULL "
        f"WHEN regexp_full_match({trimmed}, {string(form)}) THEN {value} "
        f"ELSE error({not_cast(term, target)}) END"
    )
    return made(sql, target, term, may_fail=True)


def truth_of_text(term: SqlTerm, target: pa.DataType, _zone: str) -> SqlTerm:
    """Return the boolean of one of Spark's words; other texts fail."""
    word = f"lower(trim({term.sql}, {spaces()}))"
    sql = (
        f"CASE WHEN {term.sql} IS NULL THEN NULL WHEN {word} IN {TRUE_WORDS} THEN TRUE "
        f"WHEN {word} IN {FALSE_WORDS} THEN FALSE ELSE error({not_cast(term, target)}) END"
    )
    return made(sql, target, term, may_fail=True)


def not_cast(term: SqlTerm, target: pa.DataType) -> str:
    """Return the SQL of the message for a text that is no value of a type."""
    return f"'the text ' || {term.sql} || {string(f' is no {type_name(target)}')}"


def spaces() -> str:
    """Return the literal of the characters around a value that do not count."""
    return "concat(" + ", ".join(f"chr({ord(space)})" for space in SPACES) + ")"


def bytes_of(term: SqlTerm, target: pa.DataType, _zone: str) -> SqlTerm:
    """Return the bytes of a text."""
    return made(f"encode({term.sql})", target, term)


def local_time(term: SqlTerm, target: pa.DataType, zone: str) -> SqlTerm:
    """Return an instant as a local time, or the day of it."""
    return made(f"CAST({local_of(term.sql, zone)} AS {duck_type(target)})", target, term)


def instant(term: SqlTerm, target: pa.DataType, zone: str) -> SqlTerm:
    """Return the instant of a local time."""
    return made(instant_of(f"CAST({term.sql} AS TIMESTAMP)", zone), target, term)


NEVER_FAILS: Final = partial(plainly, may_fail=False)
CASTS: Final[dict[tuple[Family, Family], Callable[[SqlTerm, pa.DataType, str], SqlTerm]]] = {
    (Family.WHOLE, Family.WHOLE): integer_cast,
    (Family.WHOLE, Family.FLOATING): NEVER_FAILS,
    (Family.WHOLE, Family.DECIMAL): plainly,
    (Family.WHOLE, Family.STRING): NEVER_FAILS,
    (Family.WHOLE, Family.BOOLEAN): truth,
    (Family.DECIMAL, Family.WHOLE): cut,
    (Family.DECIMAL, Family.DECIMAL): plainly,
    (Family.DECIMAL, Family.FLOATING): floating,
    (Family.DECIMAL, Family.STRING): NEVER_FAILS,
    (Family.DECIMAL, Family.BOOLEAN): truth,
    (Family.FLOATING, Family.WHOLE): cut,
    (Family.FLOATING, Family.FLOATING): plainly,
    (Family.FLOATING, Family.BOOLEAN): truth,
    (Family.BOOLEAN, Family.WHOLE): NEVER_FAILS,
    (Family.BOOLEAN, Family.FLOATING): NEVER_FAILS,
    (Family.BOOLEAN, Family.DECIMAL): plainly,
    (Family.BOOLEAN, Family.STRING): NEVER_FAILS,
    (Family.STRING, Family.WHOLE): from_text,
    (Family.STRING, Family.DECIMAL): from_text,
    (Family.STRING, Family.FLOATING): from_text,
    (Family.STRING, Family.DATE): from_text,
    (Family.STRING, Family.TIMESTAMP): from_text,
    (Family.STRING, Family.TIMESTAMP_NTZ): from_text,
    (Family.STRING, Family.BOOLEAN): truth_of_text,
    (Family.STRING, Family.BINARY): bytes_of,
    (Family.DATE, Family.STRING): text_of_time,
    (Family.DATE, Family.TIMESTAMP): instant,
    (Family.DATE, Family.TIMESTAMP_NTZ): NEVER_FAILS,
    (Family.TIMESTAMP, Family.STRING): text_of_time,
    (Family.TIMESTAMP, Family.DATE): local_time,
    (Family.TIMESTAMP, Family.TIMESTAMP_NTZ): local_time,
    (Family.TIMESTAMP_NTZ, Family.STRING): text_of_time,
    (Family.TIMESTAMP_NTZ, Family.DATE): NEVER_FAILS,
    (Family.TIMESTAMP_NTZ, Family.TIMESTAMP): instant,
}
