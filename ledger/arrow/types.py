"""Types of columns: Spark SQL's texts and Arrow's types, one for the other.

A field of a struct may carry metadata: the id and the name that it has in data files.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

import pyarrow as pa
from pyarrow import lib as ids

from ledger.core.predicates.types import (
    BY_NAME,
    DECIMAL_DIGITS_MAX,
    PRECISION_DEFAULT,
    SQL_NAMES,
    WITH_LENGTH,
    Kind,
    decimal_type,
)
from ledger.properties.type_text import TypeField, TypeNode, quoted, read_type

UTC: Final = "UTC"


class Family(StrEnum):
    """Types whose values are of one sort, however wide."""

    BOOLEAN = "boolean"
    WHOLE = "whole"
    FLOATING = "floating"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    VOID = "void"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"
    OTHER = "other"


NESTED: Final = frozenset({Family.ARRAY, Family.MAP, Family.STRUCT})


class ArrowType(NamedTuple):
    """An atomic type of a table's columns in Arrow, and its name in DuckDB.

    `others` are the ids of Arrow's types that become this one in a table.
    """

    name: str
    type: pa.DataType
    family: Family
    duck: str
    others: tuple[int, ...] = ()


# A decimal is made of its digits, and has no row.
ARROW_TYPES: Final = (
    ArrowType("boolean", pa.bool_(), Family.BOOLEAN, "BOOLEAN"),
    ArrowType("tinyint", pa.int8(), Family.WHOLE, "TINYINT"),
    ArrowType("smallint", pa.int16(), Family.WHOLE, "SMALLINT", (ids.Type_UINT8,)),
    ArrowType("int", pa.int32(), Family.WHOLE, "INTEGER", (ids.Type_UINT16,)),
    ArrowType("bigint", pa.int64(), Family.WHOLE, "BIGINT", (ids.Type_UINT32,)),
    ArrowType("float", pa.float32(), Family.FLOATING, "FLOAT", (ids.Type_HALF_FLOAT,)),
    ArrowType("double", pa.float64(), Family.FLOATING, "DOUBLE"),
    ArrowType(
        *("string", pa.string(), Family.STRING, "VARCHAR"),
        (ids.Type_LARGE_STRING, ids.Type_STRING_VIEW),
    ),
    ArrowType(
        *("binary", pa.binary(), Family.BINARY, "BLOB"),
        (ids.Type_LARGE_BINARY, ids.Type_BINARY_VIEW, ids.Type_FIXED_SIZE_BINARY),
    ),
    ArrowType("date", pa.date32(), Family.DATE, "DATE", (ids.Type_DATE64,)),
    ArrowType("timestamp_ntz", pa.timestamp("us"), Family.TIMESTAMP_NTZ, "TIMESTAMP"),
    ArrowType("timestamp", pa.timestamp("us", UTC), Family.TIMESTAMP, "TIMESTAMPTZ"),
    ArrowType("void", pa.null(), Family.VOID, "INTEGER"),
)
ROWS: Final = {row.name: row for row in ARROW_TYPES}
BY_TYPE: Final = {row.type: row for row in ARROW_TYPES}
# Both timestamps have one id.
BY_ID: Final = {number: row for row in ARROW_TYPES for number in (row.type.id, *row.others)}
TYPE_OF: Final = {
    name: ROWS[SQL_NAMES[row.delta]].type
    for name, row in BY_NAME.items()
    if row.kind is not Kind.DECIMAL
}
FAMILIES: Final = {
    **{number: row.family for number, row in BY_ID.items()},
    **dict.fromkeys(
        (*(ids.Type_DECIMAL32, ids.Type_DECIMAL64), *(ids.Type_DECIMAL128, ids.Type_DECIMAL256)),
        Family.DECIMAL,
    ),
    **dict.fromkeys(
        (
            *(ids.Type_LIST, ids.Type_LARGE_LIST, ids.Type_FIXED_SIZE_LIST),
            *(ids.Type_LIST_VIEW, ids.Type_LARGE_LIST_VIEW),
        ),
        Family.ARRAY,
    ),
    ids.Type_UINT64: Family.WHOLE,
    ids.Type_MAP: Family.MAP,
    ids.Type_STRUCT: Family.STRUCT,
}

Place = tuple[str, ...]
"""A place within a type: names of fields, and element, key and value."""

Lengths = Mapping[Place, tuple[str, int]]
"""The lengths of texts within a type by their places: the word and the number."""


class ColumnType(NamedTuple):
    """A Spark SQL type as Arrow has it; what it says of the lengths of texts limits writes."""

    arrow: pa.DataType
    lengths: Lengths


def family_of(arrow: pa.DataType) -> Family:
    """Return the family of a type of Arrow."""
    family = FAMILIES.get(arrow.id, Family.OTHER)
    return Family.TIMESTAMP_NTZ if family is Family.TIMESTAMP and not arrow.tz else family


def arrow_type(sql: str, column: str = "") -> pa.DataType:
    """Return the Arrow type of a Spark SQL type; raises ValueError for another text.

    The message names the `column`.
    """
    try:
        return column_type(sql).arrow
    except ValueError as why:
        raise ValueError(
            f"{at(column)}the type must be a type of Spark SQL that Arrow has too, got "
            f"{sql[:200]!r}: {why}"
        ) from None


@lru_cache(maxsize=1024)
def column_type(sql: str) -> ColumnType:
    """Return a Spark SQL type; raises ValueError with the reason why it is none."""
    lengths: dict[Place, tuple[str, int]] = {}
    return ColumnType(of_node(read_type(sql), (), lengths), lengths)


def of_node(node: TypeNode, place: Place, lengths: dict[Place, tuple[str, int]]) -> pa.DataType:
    """Return the Arrow type of a part of a type, and take the lengths in it."""

    def inner(field: TypeField) -> pa.Field:
        within = of_node(field.type, (*place, field.name), lengths)
        return pa.field(field.name, within, field.nullable)

    row = BY_NAME.get(node.word)
    fields = [inner(each) for each in node.fields]
    if node.word == "array":
        return pa.list_(fields[0])
    if node.word == "map":
        if pa.types.is_null(fields[0].type):
            raise ValueError("the keys of a map need a type")
        return pa.map_(fields[0].type, fields[1].type)
    if node.word == "struct":
        return pa.struct(fields)
    if row is None:
        raise ValueError(f"{node.word!r} is not a supported type")
    if node.rest:
        raise ValueError(f"{node.rest!r} follows a whole type")
    if row.kind is Kind.DECIMAL:
        return decimal_of(node.numbers or (PRECISION_DEFAULT,))
    if node.word in WITH_LENGTH and node.numbers:
        lengths[place] = (node.word, node.numbers[0])
    return TYPE_OF[node.word]


def decimal_of(digits: tuple[int, ...]) -> pa.DataType:
    """Return the decimal of some digits; raises ValueError for digits that Spark lacks."""
    precision, scale = (*digits, 0)[:2]
    if len(digits) > len(("precision", "scale")) or decimal_type(precision, scale) is None:
        raise ValueError(
            f"a decimal has 1 to {DECIMAL_DIGITS_MAX} digits, and no more of them after the point"
        )
    return pa.decimal128(precision, scale)


def sql_type(arrow: pa.DataType, column: str = "") -> str:
    """Return the Spark SQL type of an Arrow type; raises ValueError if Spark has no such type."""
    row, text = BY_ID.get(arrow.id), ""
    match family_of(arrow):
        case Family.TIMESTAMP | Family.TIMESTAMP_NTZ as family:
            text = family.value
        case Family.DECIMAL if is_fitting_decimal(arrow):
            text = f"decimal({arrow.precision},{arrow.scale})"
        case Family.ARRAY:
            text = f"array<{sql_type(arrow.value_type, column)}>"
        case Family.MAP:
            text = f"map<{sql_type(arrow.key_type, column)},{sql_type(arrow.item_type, column)}>"
        case Family.STRUCT:
            text = f"struct<{','.join(field_text(each, column) for each in arrow)}>"
        case Family.OTHER if pa.types.is_dictionary(arrow):
            text = sql_type(arrow.value_type, column)
        case Family.WHOLE if row is None:
            text = "decimal(20,0)"  # Only 64 bits without a sign have no row.
        case _ if row is not None:
            text = row.name
    if text:
        return text
    raise ValueError(
        f"{at(column)}the type must be one that Spark SQL has, got Arrow's {arrow}; cast the "
        "column to such a type first"
    )


def is_fitting_decimal(arrow: pa.DataType) -> bool:
    """Return whether a type is a decimal that Spark has too."""
    return bool(
        pa.types.is_decimal(arrow)
        and arrow.precision <= DECIMAL_DIGITS_MAX
        and 0 <= arrow.scale <= arrow.precision
    )


def field_text(field: pa.Field, column: str) -> str:
    """Return a field of a struct as Spark SQL writes it."""
    mark = "" if field.nullable else " NOT NULL"
    return f"{quoted(field.name)}:{sql_type(field.type, column)}{mark}"


def at(column: str) -> str:
    """Return the start of a message about a column, "" for no column."""
    return f"column {column}: " if column else ""
