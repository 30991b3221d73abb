"""Partition values of Python, NumPy and pandas as texts of the log.

A value is accepted if its type leaves no doubt about its meaning in the column, else refused: 3.5
for an INT, 1 for a STRING (there it may be '01'), a time without a zone for a TIMESTAMP. A text is
checked as `ledger.core.partitions.values.written` does.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final, NamedTuple

from ledger.core.partitions.values import LENGTH_FORM, written
from ledger.core.predicates.types import BITS, FLOATS, Kind, parse_type

EXACT_BITS: Final = 53
"""A double holds every whole number of up to this many bits."""

FLOAT_KINDS: Final = frozenset({"double", "float"})
WHOLE_KINDS: Final = frozenset(kind.value for kind in BITS)
NULL_TYPES: Final = frozenset({"NAType", "NaTType", "MaskedConstant"})
YEARS: Final = (1, 9999)
EPOCH_YEAR: Final = 1970


class PartitionColumn(NamedTuple):
    """A partition column; for the type "" (unknown) only texts are accepted."""

    name: str
    type: str


def text_of(value: Any, column: PartitionColumn) -> str | None:
    """Return the text of a value in a column, None for NULL.

    Raises ValueError for a value that the column cannot hold, TypeError for a type that does not
    fit the column.
    """
    try:
        given = python_value(value)
        if given is None or isinstance(given, str):
            return written(given, column.type)
        return written(value_text(given, kind_of(column.type)), column.type)
    except ValueError as error:
        raise ValueError(f"partition column {column.name} {with_value(error, value)}") from None
    except TypeError as error:
        raise TypeError(f"partition column {column.name} {error}, got {value!r}") from None


def with_value(error: ValueError, value: object) -> str:
    """Return the core's message with the value as the caller gave it."""
    wanted = str(error).partition(", got ")[0]
    return f"{wanted}, got {value!r}" if not isinstance(value, str) else str(error)


def kind_of(type_text: str) -> str:
    """Return the kind of a type, "" for a type that accepts only texts."""
    word = type_text.strip().lower()
    if word in FLOATS:
        return "float"
    if LENGTH_FORM.fullmatch(word):
        return Kind.STRING.value
    found = parse_type(type_text)
    return "" if found is None else found.kind.value


def python_value(value: Any) -> Any:
    """Return a value of NumPy, pandas or Arrow as a Python value, None for their NULLs.

    Raises TypeError for a time finer than microseconds.
    """
    if value is None or type(value).__name__ in NULL_TYPES:
        return None
    if isinstance(value, str):
        return str.__str__(value)
    if hasattr(value, "as_py"):
        return python_value(value.as_py())
    if hasattr(value, "dtype") and hasattr(value, "item"):
        return of_numpy(value)
    if getattr(value, "nanosecond", 0):
        raise TypeError("must be a time in whole microseconds")
    return value


def of_numpy(value: Any) -> Any:
    """Return a scalar of NumPy as a Python value; raises TypeError for an array."""
    if getattr(value, "ndim", 0):
        raise TypeError("must be a single value, not an array")
    if value.dtype.kind != "M":
        return value.item()
    found = value.astype("datetime64[us]")
    if found != value and found == found:  # noqa: PLR0124 - NaT is not equal to itself
        raise TypeError("must be a time in whole microseconds")
    year = int(value.astype("datetime64[Y]").astype("int64")) + EPOCH_YEAR
    if found == found and not YEARS[0] <= year <= YEARS[1]:  # noqa: PLR0124 - as above
        raise TypeError("must be a time of the years 1 to 9999")
    moment = found.item()
    is_day = str(value.dtype) == "datetime64[D]"
    return moment.date() if is_day and moment is not None else moment


def value_text(value: Any, kind: str) -> str:
    """Return the text of a value that is not a text; raises as `text_of`."""
    match value:
        case bool():
            return spelled_as(kind, BOOLS, value)
        case int():
            return spelled_as(kind, WHOLES, int(value))
        case float():
            return spelled_as(kind, DOUBLES, value)
        case Decimal():
            return spelled_as(kind, DECIMALS, value)
        case datetime():
            return spelled_as(kind, TIMES, value)
        case date():
            return spelled_as(kind, DAYS, value)
    raise TypeError(wanted_of(kind))


def spelled_as(kind: str, forms: Mapping[str, Callable[[Any], str]], value: Any) -> str:
    """Return the text of a value by the forms that its Python type has."""
    if kind not in forms:
        raise TypeError(wanted_of(kind))
    return forms[kind](value)


def wanted_of(kind: str) -> str:
    """Return the demand of a column of a kind, for a message."""
    taken = TAKEN.get(kind, "a text, as its type is not known")
    return f"must be {taken}"


def in_double(number: int) -> str:
    """Return a whole number that a double holds."""
    if number.bit_length() > EXACT_BITS:
        raise ValueError("must be a number that a double holds exactly")
    return str(number)


def whole_of(number: float) -> str:
    """Return the digits of a float; raises ValueError unless it is a whole number."""
    if number != number:  # noqa: PLR0124 - NaN only
        raise ValueError("must be a whole number, or None for NULL")
    if not number.is_integer() or abs(number) > 2**EXACT_BITS:
        raise ValueError("must be a whole number")
    return str(int(number))


def whole_decimal(number: Decimal) -> str:
    """Return the digits of a decimal; raises ValueError unless it is a whole number."""
    if not number.is_finite() or number != number.to_integral_value():
        raise ValueError("must be a whole number")
    return str(int(number))


def decimal_digits(number: Decimal) -> str:
    """Return all digits of a decimal, never an exponent."""
    if not number.is_finite():
        raise ValueError("must be a number, or None for NULL")
    return format(number, "f")


def instant(moment: datetime) -> str:
    """Return an instant in UTC."""
    if moment.tzinfo is None:
        raise TypeError(
            "must be a datetime with a zone, or a text with the meant time; got one without tzinfo"
        )
    return f"{datetime_text(moment.astimezone(UTC).replace(tzinfo=None))}Z"


def wall_time(moment: datetime) -> str:
    """Return a time without a zone."""
    if moment.tzinfo is not None:
        raise TypeError("must be a datetime without a zone")
    return datetime_text(moment)


def datetime_text(moment: datetime) -> str:
    """Return the fields of a moment, of a subclass as well."""
    return datetime.combine(moment.date(), moment.time()).isoformat(" ")


def day_of(moment: datetime) -> str:
    """Return the day of a midnight; pandas has days in this form."""
    if moment.tzinfo is not None or moment.time() != time():
        raise TypeError("must be a date, or a datetime at midnight without a zone")
    return moment.date().isoformat()


BOOLS: Final[Mapping[str, Callable[[Any], str]]] = {"boolean": lambda truth: str(truth).lower()}
WHOLES: Final[Mapping[str, Callable[[Any], str]]] = {
    **dict.fromkeys((*WHOLE_KINDS, "decimal"), str),
    **dict.fromkeys(FLOAT_KINDS, in_double),
}
DOUBLES: Final[Mapping[str, Callable[[Any], str]]] = {
    **dict.fromkeys(FLOAT_KINDS, lambda number: repr(float(number))),
    **dict.fromkeys(WHOLE_KINDS, whole_of),
}
DECIMALS: Final[Mapping[str, Callable[[Any], str]]] = {
    "decimal": decimal_digits,
    **dict.fromkeys(WHOLE_KINDS, whole_decimal),
}
TIMES: Final[Mapping[str, Callable[[Any], str]]] = {
    "timestamp": instant,
    "timestamp_ntz": wall_time,
    "date": day_of,
}
DAYS: Final[Mapping[str, Callable[[Any], str]]] = {"date": date.isoformat}
TAKEN: Final[Mapping[str, str]] = {
    **dict.fromkeys(WHOLE_KINDS, "a whole number"),
    **dict.fromkeys(FLOAT_KINDS, "a number"),
    "decimal": "a Decimal, a whole number or a text",
    "boolean": "True or False",
    "date": "a date",
    "timestamp": "a datetime with a zone, or a text",
    "timestamp_ntz": "a datetime without a zone, or a text",
    "string": "a text (a number may be spelled in more than one way there)",
}
