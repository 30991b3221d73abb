"""The functions of Spark SQL that rows understand, by name, over terms."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from ledger.expressions.duckdb.casts import cast
from ledger.expressions.duckdb.operators import (
    alike,
    arithmetic,
    as_read,
    case,
    compared,
    is_null,
    joined,
    negated,
    negative,
    whole_quotient,
)
from ledger.expressions.duckdb.terms import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    SqlTerm,
    failing,
    is_floating,
    is_integral,
    is_number,
    is_time,
    made,
    refused,
    type_name,
)
from ledger.expressions.duckdb.zones import local_of
from ledger.expressions.parse import PredicateSyntaxError

Arguments = Sequence[SqlTerm]
Function = Callable[[Arguments, str], SqlTerm]

# Letters whose other case is one letter in Java as in DuckDB.
ONE_TO_ONE: Final = r"[\x00-\x7F\x{C0}-\x{DE}\x{E0}-\x{FE}\x{400}-\x{45F}]*"
TEXT_PARTS: Final = {"startswith": "starts_with", "endswith": "ends_with", "contains": "contains"}


def coalesce(given: Arguments, zone: str) -> SqlTerm:
    """Return the first value that is not NULL."""
    type_, terms = alike(given, zone)
    return made(f"coalesce({', '.join(term.sql for term in terms)})", type_, *terms)


def extreme(name: str, given: Arguments, zone: str) -> SqlTerm:
    """Return the greatest or least value that is not NULL."""
    type_, terms = alike(given, zone)
    if pa.types.is_nested(type_):
        raise refused(f"{name} of {type_name(type_)}")
    return made(f"{name}({', '.join(term.sql for term in terms)})", type_, *terms)


def null_if(given: Arguments, zone: str) -> SqlTerm:
    """Return NULL if both values are equal, else the first."""
    first, second = given
    equal = compared("=", as_read(first), as_read(second), zone)
    return case([(equal, SqlTerm("NULL", NULL))], first, zone)


def choice(given: Arguments, zone: str) -> SqlTerm:
    """Return IF."""
    condition, yes, no = given
    return case([(condition, yes)], no, zone)


def null_choice(given: Arguments, zone: str) -> SqlTerm:
    """Return the second value if the first is not NULL, else the third."""
    first, yes, no = given
    return case([(negated(is_null(first), zone), yes)], no, zone)


def absolute(given: Arguments, _zone: str) -> SqlTerm:
    """Return a number without its sign."""
    (term,) = given
    if not is_number(term.type):
        raise refused(f"abs of {type_name(term.type)}")
    return made(f"abs({term.sql})", term.type, term, may_fail=is_integral(term.type))


def rounded(name: str, given: Arguments, zone: str) -> SqlTerm:
    """Return FLOOR or CEIL of a number, as a BIGINT."""
    (term,) = given
    if is_integral(term.type):
        return cast(term, BIGINT, zone)
    if not is_floating(term.type):
        raise refused(f"{name} of {type_name(term.type)}")
    return made(f"CAST({name}({term.sql}) AS BIGINT)", BIGINT, term, may_fail=True)


def is_nan(given: Arguments, _zone: str) -> SqlTerm:
    """Return whether a number is NaN; of NULL it is false."""
    (term,) = given
    if not is_floating(term.type):
        raise refused(f"isnan of {type_name(term.type)}")
    return made(f"coalesce(isnan({term.sql}), FALSE)", BOOLEAN, term)


def part_of_time(name: str, given: Arguments, zone: str) -> SqlTerm:
    """Return a field of a date or a timestamp, in the session time zone."""
    (term,) = given
    local = as_local(name, term, zone)
    return made(f"CAST({name}({local.sql}) AS INTEGER)", INT, local)


def part_of_day(name: str, given: Arguments, zone: str) -> SqlTerm:
    """Return the hour, minute or second of a timestamp."""
    if given[0].type == DATE:
        raise refused(f"{name} of a DATE")
    return part_of_time(name, given, zone)


def as_local(name: str, term: SqlTerm, zone: str) -> SqlTerm:
    """Return a date or a timestamp as a local time."""
    if term.type == STRING:
        return cast(term, DATE, zone)
    if not is_time(term.type):
        raise refused(f"{name} of {type_name(term.type)}")
    if term.type == TIMESTAMP:
        return made(local_of(term.sql, zone), pa.timestamp("us"), term)
    return term


def day_of_week(given: Arguments, zone: str) -> SqlTerm:
    """Return the day of the week, 1 = Sunday."""
    local = as_local("dayofweek", given[0], zone)
    return made(f"CAST(dayofweek({local.sql}) + 1 AS INTEGER)", INT, local)


def days_between(given: Arguments, zone: str) -> SqlTerm:
    """Return the days from the second date to the first."""
    end, start = (cast(each, DATE, zone) for each in given)
    return made(f"CAST({end.sql} - {start.sql} AS INTEGER)", INT, end, start)


def day_of(given: Arguments, zone: str) -> SqlTerm:
    """Return the day of a timestamp or of a text."""
    (term,) = given
    return cast(term, DATE, zone)


def moved_days(sign: str, given: Arguments, zone: str) -> SqlTerm:
    """Return a date some days later or earlier."""
    return arithmetic(sign, cast(given[0], DATE, zone), given[1], zone)


def text(term: SqlTerm, name: str) -> SqlTerm:
    """Return a text; raises PredicateSyntaxError for another value."""
    if term.type != STRING:
        raise refused(f"{name} of {type_name(term.type)}")
    return term


def length(given: Arguments, _zone: str) -> SqlTerm:
    """Return the number of characters of a text."""
    inner = text(given[0], "length")
    return made(f"CAST(length({inner.sql}) AS INTEGER)", INT, inner)


def other_case(name: str, given: Arguments, _zone: str) -> SqlTerm:
    """Return a text in small or capital letters; other scripts fail, since engines differ."""
    inner = text(given[0], name)
    message = failing(f"{name} is supported on Latin and Cyrillic letters only")
    sql = (
        f"CASE WHEN {inner.sql} IS NULL THEN NULL "
        f"WHEN regexp_full_match({inner.sql}, '{ONE_TO_ONE}') THEN {name}({inner.sql}) "
        f"ELSE {message} END"
    )
    return made(sql, STRING, inner, may_fail=True)


def substring(given: Arguments, zone: str) -> SqlTerm:
    """Return a part of a text, counted from 1, or from the end if negative."""
    inner = text(given[0], "substring")
    start = cast(given[1], INT, zone).sql
    whole = f"length({inner.sql})"
    first = f"(CASE WHEN {start} > 0 THEN {start} - 1 WHEN {start} < 0 THEN {start} + {whole} "
    first += "ELSE 0 END)"
    end = f"({first} + {cast(given[2], INT, zone).sql})" if len(given) > 2 else whole  # noqa: PLR2004
    taken = f"greatest({end}, 0) - greatest({first}, 0)"
    null = "".join(f" OR {each.sql} IS NULL" for each in given[1:])
    sql = (
        f"CASE WHEN {inner.sql} IS NULL{null} THEN NULL WHEN {taken} <= 0 THEN '' "
        f"ELSE substring({inner.sql}, greatest({first}, 0) + 1, {taken}) END"
    )
    return made(sql, STRING, *given)


def trimmed(name: str, given: Arguments, _zone: str) -> SqlTerm:
    """Return a text without the spaces at its ends."""
    inner = text(given[0], name)
    return made(f"{name}({inner.sql}, ' ')", STRING, inner)


def part_in_text(name: str, given: Arguments, _zone: str) -> SqlTerm:
    """Return whether a text begins with, ends with or contains another."""
    one, two = (text(each, name) for each in given)
    return made(f"{TEXT_PARTS[name]}({one.sql}, {two.sql})", BOOLEAN, one, two)


def replaced(given: Arguments, _zone: str) -> SqlTerm:
    """Return a text with every occurrence of another one replaced."""
    inner, old, new = (text(each, "replace") for each in given)
    if not old.text:
        raise refused("replace of other texts than a literal")
    return made(f"replace({inner.sql}, {old.sql}, {new.sql})", STRING, inner, new)


# Functions by name, with the fewest and the most arguments they take.
FUNCTIONS: Final[Mapping[str, tuple[Function, int, int]]] = {
    "abs": (absolute, 1, 1),
    "ceil": (partial(rounded, "ceil"), 1, 1),
    "coalesce": (coalesce, 1, 100),
    "concat": (joined, 1, 10_000),
    "contains": (partial(part_in_text, "contains"), 2, 2),
    "date_add": (partial(moved_days, "+"), 2, 2),
    "date_sub": (partial(moved_days, "-"), 2, 2),
    "datediff": (days_between, 2, 2),
    "day": (partial(part_of_time, "day"), 1, 1),
    "dayofweek": (day_of_week, 1, 1),
    "dayofyear": (partial(part_of_time, "dayofyear"), 1, 1),
    "div": (lambda given, zone: whole_quotient(given[0], given[1], zone), 2, 2),
    "endswith": (partial(part_in_text, "endswith"), 2, 2),
    "floor": (partial(rounded, "floor"), 1, 1),
    "greatest": (partial(extreme, "greatest"), 2, 100),
    "hour": (partial(part_of_day, "hour"), 1, 1),
    "if": (choice, 3, 3),
    "isnan": (is_nan, 1, 1),
    "isnotnull": (lambda given, zone: negated(is_null(given[0]), zone), 1, 1),
    "isnull": (lambda given, _zone: is_null(given[0]), 1, 1),
    "least": (partial(extreme, "least"), 2, 100),
    "length": (length, 1, 1),
    "lower": (partial(other_case, "lower"), 1, 1),
    "ltrim": (partial(trimmed, "ltrim"), 1, 1),
    "minute": (partial(part_of_day, "minute"), 1, 1),
    "mod": (lambda given, zone: arithmetic("%", given[0], given[1], zone), 2, 2),
    "month": (partial(part_of_time, "month"), 1, 1),
    "negative": (lambda given, _zone: negative(given[0]), 1, 1),
    "nullif": (null_if, 2, 2),
    "nvl2": (null_choice, 3, 3),
    "quarter": (partial(part_of_time, "quarter"), 1, 1),
    "replace": (replaced, 3, 3),
    "rtrim": (partial(trimmed, "rtrim"), 1, 1),
    "second": (partial(part_of_day, "second"), 1, 1),
    "startswith": (partial(part_in_text, "startswith"), 2, 2),
    "substring": (substring, 2, 3),
    "to_date": (day_of, 1, 1),
    "trim": (partial(trimmed, "trim"), 1, 1),
    "upper": (partial(other_case, "upper"), 1, 1),
    "weekofyear": (partial(part_of_time, "weekofyear"), 1, 1),
    "year": (partial(part_of_time, "year"), 1, 1),
}


def called(name: str, given: Arguments, zone: str) -> SqlTerm:
    """Return a function of terms; raises PredicateSyntaxError for an unknown one."""
    found = FUNCTIONS.get(name)
    if found is None:
        raise refused(f"the function {name}")
    function, least, most = found
    if not least <= len(given) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise PredicateSyntaxError(f"{name} takes {wanted} arguments, got {len(given)}")
    return function(given, zone)
