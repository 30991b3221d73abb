"""Spark SQL types of partition columns and literals, and the type in which Spark compares them.

The rules are those of Spark's ANSI mode. Other types are not supported: a predicate over them
counts as TRUE.
"""

import re
from enum import StrEnum
from functools import lru_cache, reduce
from typing import Final, NamedTuple

DECIMAL_DIGITS_MAX: Final = 38
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


# Other spellings in Spark. The length of a varchar limits writes, not comparisons.
SPELLINGS: Final = {
    **{kind.value: kind for kind in Kind},
    "byte": Kind.TINYINT,
    "short": Kind.SMALLINT,
    "integer": Kind.INT,
    "long": Kind.BIGINT,
    "dec": Kind.DECIMAL,
    "numeric": Kind.DECIMAL,
    "varchar": Kind.STRING,
    "timestamp_ltz": Kind.TIMESTAMP,
}
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
    kind = SPELLINGS.get(found[1]) if found else None
    if found is None or kind is None:
        return None
    if kind is Kind.DECIMAL:
        return decimal_type(int(found[2] or 10), int(found[3] or 0))
    has_length = found[1] == "varchar"
    return SparkType(kind) if bool(found[2]) is has_length and not found[3] else None


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
