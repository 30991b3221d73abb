"""The atomic types of Spark SQL, and the type in which Spark compares two of them.

The table of types has their names in Spark SQL and elsewhere; `ledger.arrow.types` adds what Arrow
and DuckDB make of them. The rules are those of Spark's ANSI mode. A type without a kind is not
compared: a predicate over it counts as TRUE.
"""

import re
from enum import StrEnum
from functools import lru_cache, reduce
from typing import Final, NamedTuple

DECIMAL_DIGITS_MAX: Final = 38
PRECISION_DEFAULT: Final = 10
# A client may send any text as a type, and every reader of the log parses it. No two parts of the
# form match the same spaces, or a long text would take quadratic time.
TYPE_FORM: Final = re.compile(r"([a-z_]+)(?:\s*\(\s*([0-9]{1,5})\s*(?:,\s*([0-9]{1,3})\s*)?\))?")


class UndecidableError(ValueError):
    """The value of an expression is uncertain, so its predicate counts as TRUE."""


class Kind(StrEnum):
    """What a type is, without precision and scale."""

    BOOLEAN = "boolean"
    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    DOUBLE = "double"
    DECIMAL = "decimal"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    VOID = "void"


class AtomicType(NamedTuple):
    """A type without parts: its name in Spark SQL, and its names in Delta's and Unity's schemas.

    `spellings` are its other names in Spark SQL. `kind` is None for a type that is not compared.
    """

    name: str
    delta: str
    unity: str
    kind: Kind | None
    spellings: tuple[str, ...] = ()


# The length of a varchar limits writes, not comparisons. A char is filled up to be compared.
TYPES: Final = (
    AtomicType("boolean", "boolean", "BOOLEAN", Kind.BOOLEAN),
    AtomicType("tinyint", "byte", "BYTE", Kind.TINYINT, ("byte",)),
    AtomicType("smallint", "short", "SHORT", Kind.SMALLINT, ("short",)),
    AtomicType("int", "integer", "INT", Kind.INT, ("integer",)),
    AtomicType("bigint", "long", "LONG", Kind.BIGINT, ("long",)),
    AtomicType("float", "float", "FLOAT", None, ("real",)),
    AtomicType("double", "double", "DOUBLE", Kind.DOUBLE),
    AtomicType("decimal", "decimal", "DECIMAL", Kind.DECIMAL, ("dec", "numeric")),
    AtomicType("string", "string", "STRING", Kind.STRING),
    AtomicType("varchar", "string", "STRING", Kind.STRING),
    AtomicType("char", "string", "STRING", None),
    AtomicType("binary", "binary", "BINARY", None),
    AtomicType("date", "date", "DATE", Kind.DATE),
    AtomicType("timestamp", "timestamp", "TIMESTAMP", Kind.TIMESTAMP, ("timestamp_ltz",)),
    AtomicType("timestamp_ntz", "timestamp_ntz", "TIMESTAMP_NTZ", Kind.TIMESTAMP_NTZ),
    AtomicType("void", "void", "NULL", Kind.VOID),
)
BY_NAME: Final = {name: row for row in TYPES for name in (row.name, *row.spellings)}
FLOATS: Final = frozenset(name for name, row in BY_NAME.items() if row.name == "float")
WITH_LENGTH: Final = frozenset({"varchar", "char"})
# Names in Delta's schemas, and an older one; the texts of a string come last.
SQL_NAMES: Final = {"null": "void", **{row.delta: row.name for row in reversed(TYPES)}}
# Bits of each integral type, narrowest first, and the decimal digits that hold all its values.
BITS: Final = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
DIGITS: Final = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 20}
EXACT_NUMBERS: Final = frozenset({*BITS, Kind.DECIMAL})
NUMBERS: Final = EXACT_NUMBERS | {Kind.DOUBLE}
TIMES: Final = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})


class SparkType(NamedTuple):
    """A type: its kind and, for a decimal, the digits in all and behind the point.

    Values of a timestamp are instants. `zone` is the session time zone in which they are read and
    written as local times, "" = UTC.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    zone: str = ""

    def __str__(self) -> str:
        """Return the type as Spark SQL writes it."""
        if self.kind is Kind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        return self.kind.value


BOOLEAN: Final = SparkType(Kind.BOOLEAN)
INT: Final = SparkType(Kind.INT)
BIGINT: Final = SparkType(Kind.BIGINT)
DOUBLE: Final = SparkType(Kind.DOUBLE)
STRING: Final = SparkType(Kind.STRING)
TIMESTAMP_NTZ: Final = SparkType(Kind.TIMESTAMP_NTZ)


@lru_cache(maxsize=256)
def parse_type(text: str) -> SparkType | None:
    """Return the type that a Spark SQL text names, None for an unsupported one."""
    found = TYPE_FORM.fullmatch(text.strip().lower())
    row = BY_NAME.get(found[1]) if found else None
    if found is None or row is None or row.kind is None:
        return None
    if row.kind is Kind.DECIMAL:
        return decimal_type(int(found[2] or PRECISION_DEFAULT), int(found[3] or 0))
    has_length = found[1] in WITH_LENGTH
    return SparkType(row.kind) if bool(found[2]) is has_length and not found[3] else None


def decimal_type(precision: int, scale: int) -> SparkType | None:
    """Return the decimal type of these digits, None if they exceed Spark's maximum."""
    fits = 1 <= precision <= DECIMAL_DIGITS_MAX and scale <= precision
    return SparkType(Kind.DECIMAL, precision, scale) if fits else None


def number_type(text: str) -> SparkType | None:
    """Return the type of a number in SQL by its form and size, None if it is too long."""
    if "e" in text.lower():
        return DOUBLE
    whole, point, fraction = text.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    precision = max(len(digits), len(fraction), 1)
    if precision > DECIMAL_DIGITS_MAX:
        return None
    # The negative range is larger by one: -1 counts as 0, -2 as 1.
    size = int(digits or "0") - text.startswith("-")
    if point or size.bit_length() >= BITS[Kind.BIGINT]:
        return decimal_type(precision, len(fraction))
    return INT if size.bit_length() < BITS[Kind.INT] else BIGINT


def common_type(first: SparkType, *others: SparkType) -> SparkType:
    """Return the type to which Spark casts all of these before it compares them.

    Raises UndecidableError if Spark refuses to compare them, or would have to round.
    """
    return reduce(wider, others, first)


def wider(left: SparkType, right: SparkType) -> SparkType:
    """Return the type to which Spark casts both; raises UndecidableError if it refuses."""
    kinds = {left.kind, right.kind}
    if left == right or right.kind is Kind.VOID:
        return left
    if left.kind is Kind.VOID:
        return right
    if Kind.STRING in kinds:
        return beside_text(left if right.kind is Kind.STRING else right)
    if kinds <= NUMBERS:
        return wider_number(left, right)
    if kinds <= TIMES:
        instants = (each for each in (left, right) if each.kind is Kind.TIMESTAMP)
        return next(instants, TIMESTAMP_NTZ)
    raise UndecidableError(f"Spark does not compare {left} with {right}")


def beside_text(other: SparkType) -> SparkType:
    """Return the type in which a text and a value of another type compare: never STRING."""
    if other.kind in BITS:
        return BIGINT
    return DOUBLE if other.kind in NUMBERS else other


def wider_number(left: SparkType, right: SparkType) -> SparkType:
    """Return the number type that holds both, DOUBLE if one of them is DOUBLE."""
    kinds = {left.kind, right.kind}
    if Kind.DOUBLE in kinds:
        return DOUBLE
    if Kind.DECIMAL not in kinds:
        return max(left, right, key=lambda each: BITS[each.kind])
    one, two = as_decimal(left), as_decimal(right)
    scale = max(one.scale, two.scale)
    whole = max(one.precision - one.scale, two.precision - two.scale)
    found = decimal_type(whole + scale, scale)
    if found is None:
        raise UndecidableError(f"no decimal holds both {left} and {right} without rounding")
    return found


def as_decimal(number: SparkType) -> SparkType:
    """Return the decimal type that holds an exact number type."""
    return SparkType(Kind.DECIMAL, DIGITS.get(number.kind, number.precision), number.scale)


def embeds(source: SparkType, target: SparkType) -> bool:
    """Tell whether all values of a type can be cast to another and stay different.

    False for a timestamp in a zone: two local times may be one instant.
    """
    if source.zone:
        return False
    return source == target or {source.kind, target.kind} <= EXACT_NUMBERS
