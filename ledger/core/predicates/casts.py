"""CAST with the rules of Spark SQL's ANSI mode, in the session time zone of a timestamp's type.

Values are Python's: bool, int, float, Decimal, str, date, datetime without a zone (UTC for a
timestamp), None for NULL. A cast gives exactly Spark's value or raises UndecidableError, either
because Spark fails too, or because the text has an unsupported form (years beyond 9999, NaN).
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from ledger.core.predicates.time_zones import start_of_day, to_local, to_utc
from ledger.core.predicates.types import BITS, Kind, SparkType, UndecidableError

Value = Any
Cast = Callable[[Value, SparkType], Value]

SPACES: Final = " \t\n\r"
WHOLE_FORM: Final = re.compile(r"[+-]?[0-9]{1,40}")
NUMBER_FORM: Final = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?"
)
DATE_FORM: Final = re.compile(
    r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL
)
TIMESTAMP_FORM: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,9}))?)?)?"
    r"(Z|UTC|[+-][0-9]{1,2}:[0-9]{2})?)?"
)
BOOLEANS: Final = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
INFINITIES: Final = {"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}
ZONE_MAX: Final = timedelta(hours=18)
# Wide enough for every decimal of Spark, and for every number before it is rounded.
DECIMALS: Final = Context(prec=100, rounding=ROUND_HALF_UP)


def read_boolean(text: str, _: SparkType) -> bool:
    """Return the boolean that Spark reads in a text, in any case and with spaces around it."""
    return BOOLEANS[text.strip(SPACES).lower()]


def read_whole(text: str, target: SparkType) -> int:
    """Return the whole number of a text, if it fits the type."""
    return to_whole(matched(WHOLE_FORM, text)[0], target)


def read_double(text: str, _: SparkType) -> float:
    """Return the nearest double of a text."""
    word = text.strip(SPACES).lower()
    return float(word if word in INFINITIES else matched(NUMBER_FORM, text)[0])


def read_decimal(text: str, target: SparkType) -> Decimal:
    """Return the decimal of a text, rounded to the scale of the type."""
    return to_decimal(matched(NUMBER_FORM, text)[0], target)


def read_date(text: str, _: SparkType) -> date:
    """Return the day at the start of a text; a missing month or day is the first."""
    year, month, day = matched(DATE_FORM, text).groups(default="1")
    return date(int(year), int(month), int(day))


def read_timestamp(text: str, target: SparkType) -> datetime:
    """Return the instant of a text in UTC; without a zone it is in the zone of the session."""
    *fields, fraction, zone = matched(TIMESTAMP_FORM, text).groups(default="")
    year, month, day, hour, minute, second = (int(field or 0) for field in fields)
    micros = int(fraction[:6].ljust(6, "0"))
    moment = datetime(year, month, day, hour, minute, second, micros)  # noqa: DTZ001 - see below
    if not zone:
        return to_utc(moment, target.zone)
    if target.kind is Kind.TIMESTAMP_NTZ:
        raise UndecidableError(f"the type has no zone, got '{text}'")
    return moment - offset(zone)


def offset(zone: str) -> timedelta:
    """Return how far a zone is ahead of UTC."""
    if zone in {"", "Z", "UTC"}:
        return timedelta()
    hours, _, minutes = zone[1:].partition(":")
    ahead = timedelta(hours=int(hours), minutes=int(minutes))
    if ahead > ZONE_MAX or int(minutes) > 59:  # noqa: PLR2004 - minutes of an hour
        raise UndecidableError(f"a zone must be at most {ZONE_MAX} from UTC, got {zone}")
    return -ahead if zone[0] == "-" else ahead


def matched(form: re.Pattern[str], text: str) -> re.Match[str]:
    """Return the match of a whole text, without the spaces around it."""
    found = form.fullmatch(text.strip(SPACES))
    if found is None:
        raise UndecidableError(f"'{text}' does not have the form of its type")
    return found


def to_whole(number: Value, target: SparkType) -> int:
    """Return a number without its fraction, if it fits the integral type.

    Spark casts a decimal to an integral type by way of a double, except to BIGINT.
    """
    whole, bound = int(number), 1 << (BITS[target.kind] - 1)
    is_exact = not isinstance(number, Decimal) or target.kind is Kind.BIGINT
    if not is_exact and int(float(number)) != whole:
        raise UndecidableError(f"{number} is another number as a double")
    if not -bound <= whole < bound:
        raise UndecidableError(f"{whole} is outside {target}")
    return whole


def to_double(number: Value, _: SparkType) -> float:
    """Return the nearest double."""
    return float(number)


def to_decimal(number: Value, target: SparkType) -> Decimal:
    """Return a number rounded half up to the scale of a decimal type, if it fits."""
    step = Decimal(1).scaleb(-target.scale)
    rounded = Decimal(number).quantize(step, context=DECIMALS)
    if rounded and rounded.adjusted() >= target.precision - target.scale:
        raise UndecidableError(f"{number} is outside {target}")
    # Spark's decimals have no negative zero.
    return rounded or abs(rounded)


def to_truth(number: Value, _: SparkType) -> bool:
    """Return whether a number is not zero."""
    return bool(number != 0)


def to_midnight(day: date, _: SparkType) -> datetime:
    """Return the first instant of a day, in UTC."""
    return datetime.combine(day, time())


def to_date(moment: datetime, _: SparkType) -> date:
    """Return the day of an instant, in UTC."""
    return moment.date()


def whole_text(number: int, _: SparkType) -> str:
    """Return the digits of a whole number."""
    return str(number)


def decimal_text(number: Decimal, _: SparkType) -> str:
    """Return all digits of a decimal, never an exponent."""
    return format(number, "f")


def boolean_text(truth: bool, _: SparkType) -> str:  # noqa: FBT001 - a value like any other
    """Return the word for a boolean."""
    return "true" if truth else "false"


def date_text(day: date, _: SparkType) -> str:
    """Return year, month and day."""
    return day.isoformat()


def timestamp_text(moment: datetime, _: SparkType) -> str:
    """Return an instant, with fractions of a second only if it has some."""
    text = moment.isoformat(" ")
    return text.rstrip("0") if moment.microsecond else text


def unchanged(value: Value, _: SparkType) -> Value:
    """Return the value itself: both types have the same values."""
    return value


# Kinds that share one function per cast: the integral types differ in their bounds only.
FAMILIES: Final = {**dict.fromkeys(BITS, "integral"), Kind.TIMESTAMP_NTZ: "timestamp"}
FROM_NUMBER: Final[Mapping[str, Cast]] = {
    "integral": to_whole,
    "double": to_double,
    "decimal": to_decimal,
    "boolean": to_truth,
}
CASTS: Final[Mapping[str, Mapping[str, Cast]]] = {
    "boolean": {**FROM_NUMBER, "boolean": unchanged, "string": boolean_text},
    "integral": {**FROM_NUMBER, "string": whole_text},
    "decimal": {**FROM_NUMBER, "string": decimal_text},
    # No cast to decimal or string: Java's shortest digits are not always Python's.
    "double": {"integral": to_whole, "double": unchanged, "boolean": to_truth},
    "date": {"timestamp": to_midnight, "date": unchanged, "string": date_text},
    "timestamp": {"timestamp": unchanged, "date": to_date, "string": timestamp_text},
    "string": {
        "boolean": read_boolean,
        "integral": read_whole,
        "double": read_double,
        "decimal": read_decimal,
        "date": read_date,
        "timestamp": read_timestamp,
        "string": unchanged,
    },
    "void": dict.fromkeys((*(kind.value for kind in Kind), "integral"), unchanged),
}


def family(kind: Kind) -> str:
    """Return the name under which the casts of a kind are listed."""
    return FAMILIES.get(kind, kind.value)


def cast_between(source: SparkType, target: SparkType) -> Callable[[Value], Value]:
    """Return the function that casts values other than NULL from one type to another.

    The function raises an ArithmeticError, LookupError or ValueError (such as UndecidableError) for
    a value that it cannot cast. Raises UndecidableError if there is no cast between the types.
    """
    cast = CASTS[family(source.kind)].get(family(target.kind))
    if cast is None:
        raise UndecidableError(f"a cast from {source} to {target} is not supported")
    zone = source.zone or target.zone
    if zone and source.kind is not target.kind:
        return in_zone(cast, source, target)
    return lambda value: cast(value, target)


def in_zone(cast: Cast, source: SparkType, target: SparkType) -> Callable[[Value], Value]:
    """Return a cast from or to a timestamp with a session time zone."""
    if source.kind is Kind.TIMESTAMP:
        return lambda value: cast(to_local(value, source.zone), target)
    if source.kind is Kind.DATE:
        return lambda value: start_of_day(value, target.zone)
    if source.kind is Kind.TIMESTAMP_NTZ:
        return lambda value: to_utc(value, target.zone)
    return lambda value: cast(value, target)
