"""Terms: parts of an expression as DuckDB's SQL, each with its type."""

from functools import reduce
from operator import attrgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa

from ledger.arrow.types import BY_TYPE, arrow_type, sql_type
from ledger.core.predicates.types import (
    SparkType,
    UndecidableError,
    beside_text,
    parse_type,
    wider_number,
)
from ledger.expressions.parse import PredicateSyntaxError

BOOLEAN: Final = pa.bool_()
INT: Final = pa.int32()
BIGINT: Final = pa.int64()
DOUBLE: Final = pa.float64()
STRING: Final = pa.string()
BINARY: Final = pa.binary()
DATE: Final = pa.date32()
TIMESTAMP: Final = pa.timestamp("us", "UTC")
TIMESTAMP_NTZ: Final = pa.timestamp("us")
NULL: Final = pa.null()


class SqlTerm(NamedTuple):
    """A part of an expression: its SQL in DuckDB and its type.

    `may_fail`: its evaluation may raise an error for some rows. `text` is the text of a literal
    string, None for anything else. `width` is the length to which the texts of a column of CHAR are
    filled up, 0 for any other column, None for what is no column.
    """

    sql: str
    type: pa.DataType
    may_fail: bool = False
    text: str | None = None
    width: int | None = None


SQL_OF: Final = attrgetter("sql")
TYPE_OF: Final = attrgetter("type")
WIDTH_OF: Final = attrgetter("width")
MAY_FAIL: Final = attrgetter("may_fail")


def refused(what: str) -> PredicateSyntaxError:
    """Return the error for a form that is not supported on rows."""
    return PredicateSyntaxError(
        f"{what} is not supported on rows. docs/tables.md lists what is; compute such a value "
        "before, and give it as a constant or a column"
    )


def made(sql: str, type_: pa.DataType, *parts: SqlTerm, may_fail: bool = False) -> SqlTerm:
    """Return a term over other terms: it may fail if one of them may."""
    return SqlTerm(sql, type_, may_fail or any(map(MAY_FAIL, parts)))


def string(text: str) -> str:
    """Return a text as a constant of DuckDB, whose literals end at the character U+0000."""
    parts = ["'" + each.replace("'", "''") + "'" for each in text.split("\0")]
    return parts[0] if len(parts) == 1 else f"({' || chr(0) || '.join(parts)})"


def filled(sql: str, width: int) -> str:
    """Return the SQL of a text with spaces behind it up to a length; a longer one stays."""
    return f"rpad({sql}, CAST(greatest({width}, length({sql})) AS INTEGER), ' ')"


def identifier(name: str) -> str:
    """Return a name as an identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def failing(message: str) -> str:
    """Return the SQL that raises an error when it is evaluated."""
    return f"error({string(message)})"


def duck_type(type_: pa.DataType) -> str:
    """Return the name of an atomic type in DuckDB."""
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    row = BY_TYPE.get(type_)
    if row is None:
        raise refused(f"a value of type {sql_type(type_)}")
    return row.duck


def type_name(type_: pa.DataType) -> str:
    """Return the name of a type in messages."""
    return sql_type(type_).upper()


def is_integral(type_: pa.DataType) -> bool:
    """Return whether a type is one of the whole numbers."""
    return bool(pa.types.is_signed_integer(type_))


def is_floating(type_: pa.DataType) -> bool:
    """Return whether a type is FLOAT or DOUBLE."""
    return bool(pa.types.is_floating(type_))


def is_number(type_: pa.DataType) -> bool:
    """Return whether a type is a number."""
    return is_integral(type_) or is_floating(type_) or bool(pa.types.is_decimal(type_))


def is_time(type_: pa.DataType) -> bool:
    """Return whether a type is a date or a timestamp."""
    return type_ in (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def common_type(first: pa.DataType, *others: pa.DataType) -> pa.DataType:
    """Return the type to which Spark casts all of these; raises PredicateSyntaxError if none."""
    return reduce(wider, others, first)


def wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type to which Spark casts both; raises PredicateSyntaxError if it refuses."""
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if STRING in (left, right):
        return wider_text(left if right == STRING else right)
    if is_number(left) and is_number(right):
        return wider_numbers(left, right)
    if is_time(left) and is_time(right):
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    raise PredicateSyntaxError(f"Spark does not compare {type_name(left)} with {type_name(right)}")


def wider_text(other: pa.DataType) -> pa.DataType:
    """Return the type in which a text and a value of another type compare."""
    if is_floating(other):
        return DOUBLE
    known = spark_type(other)
    if known is None:
        raise PredicateSyntaxError(f"Spark does not compare STRING with {type_name(other)}")
    return arrow_type(str(beside_text(known)))


def wider_numbers(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the number type that holds both; FLOAT beside a whole number gives DOUBLE."""
    if is_floating(left) or is_floating(right):
        return DOUBLE
    try:
        return arrow_type(str(wider_number(needed(left), needed(right))))
    except UndecidableError as problem:
        raise refused(f"{type_name(left)} beside {type_name(right)}: {problem}; it") from problem


def spark_type(type_: pa.DataType) -> SparkType | None:
    """Return the type as the core knows it, None for FLOAT, BINARY and nested types."""
    return parse_type(sql_type(type_))


def needed(type_: pa.DataType) -> SparkType:
    """Return the type as the core knows it."""
    found: Any = spark_type(type_)
    if found is None:
        raise refused(f"a value of type {type_name(type_)}")
    return SparkType(*found)
