"""Spark SQL types of partition columns and literals, and the type Spark compares two of them in.

The rules are those of Spark's ANSI mode. Types that no rule here covers are not read at all, and
what has such a type is never judged: a predicate over it counts as TRUE.
"""

import re
from enum import StrEnum
from functools import lru_cache, reduce
from typing import Final, NamedTuple

DECIMAL_DIGITS_MAX: Final = 38
# Anybody may name a type, and every reader of the log parses it: no two parts of the form can take
# the same spaces, or a long text would cost its square.
TYPE_FORM: Final = re.compile(r"([a-z_]+)(?:\s*\(\s*([0-9]{1,5})\s*(?:,\s*([0-9]{1,3})\s*)?\))?")


class UndecidableError(ValueError):
    """Nothing certain can be said of an expression: the predicate it is in counts as TRUE."""


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


# Other spellings Spark takes; the length of a varchar bounds what is written, not what is compared.
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
    """A type: its kind and, of a decimal only, the number of digits and those behind the point.

    Values of a timestamp are instants; `zone` is that of the session in which they are read and
    written as a time of day, "" = UTC.
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
DATE: Final = SparkType(Kind.DATE)
TIMESTAMP: Final = SparkType(Kind.TIMESTAMP)
TIMESTAMP_NTZ: Final = SparkType(Kind.TIMESTAMP_NTZ)
VOID: Final = SparkType(Kind.VOID)


@lru_cache(maxsize=256)
def parse_type(text: str) -> SparkType | None:
    """Return the type a Spark SQL text names, None if it is none that is judged here."""
    found = TYPE_FORM.fullmatch(text.strip().lower())
    kind = SPELLINGS.get(found[1]) if found else None
    if found is None or kind is None:
        return None
    if kind is Kind.DECIMAL:
        return decimal_type(int(found[2] or 10), int(found[3] or 0))
    has_length = found[1] == "varchar"
    return SparkType(kind) if bool(found[2]) is has_length and not found[3] else None


def decimal_type(precision: int, scale: int) -> SparkType | None:
    """Return the decimal type of these digits, None if Spark has none so large."""
    fits = 1 <= precision <= DECIMAL_DIGITS_MAX and scale <= precision
    return SparkType(Kind.DECIMAL, precision, scale) if fits else None


def number_type(text: str) -> SparkType | None:
    """Return the type of a number as it stands in SQL, by its form and size; None if none fits."""
    if "e" in text.lower():
        return DOUBLE
    whole, point, fraction = text.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    precision = max(len(digits), len(fraction), 1)
    if precision > DECIMAL_DIGITS_MAX:
        return None
    # As many negative numbers as not negative ones fit: -1 counts as 0, -2 as 1.
    size = int(digits or "0") - text.startswith("-")
    if point or size.bit_length() >= BITS[Kind.BIGINT]:
        return decimal_type(precision, len(fraction))
    return INT if size.bit_length() < BITS[Kind.INT] else BIGINT


def common_type(first: SparkType, *others: SparkType) -> SparkType:
    """Return the type Spark casts all of these to before it compares them.

    Raises UndecidableError if Spark refuses, or would have to round.
    """
    return reduce(wider, others, first)


def wider(left: SparkType, right: SparkType) -> SparkType:
    """Return the type Spark casts both to; UndecidableError if there is none."""
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
    """Return what a text and a value of another type are compared as: never as texts."""
    if other.kind in BITS:
        return BIGINT
    return DOUBLE if other.kind in NUMBERS else other


def wider_number(left: SparkType, right: SparkType) -> SparkType:
    """Return the number type that holds both, a double as soon as one is."""
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
    """Tell whether values of a type can all be cast to another and stay as different as before.

    Not where a zone reads them: two times of day may be one instant there, or one in UTC.
    """
    if source.zone:
        return False
    return source == target or {source.kind, target.kind} <= EXACT_NUMBERS
