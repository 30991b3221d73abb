"""Single values as bytes: bounds of columns and of partitions (Appendix D of the specification).

Bytes that were written when a column had a narrower type are still read: an int of a long, a float
of a double, a date of a timestamp. A value that has no bytes in a type has no bound.
"""

import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isnan
from typing import Any, Final

from ledger.core.partitions.values import form_of
from ledger.iceberg.types import DECIMAL_FORM, SPARK

EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - all moments here are in UTC, without a zone
FIRST_DAY: Final = date(1970, 1, 1)
MICRO: Final = timedelta(microseconds=1)
MICROS_PER_DAY: Final = 86_400_000_000
MICROS_PER_MILLI: Final = 1000
EXACT: Final = Context(prec=100)
INT: Final = struct.Struct("<i")
LONG: Final = struct.Struct("<q")
FLOAT: Final = struct.Struct("<f")
DOUBLE: Final = struct.Struct("<d")
WHOLE: Final[Mapping[str, struct.Struct]] = {"int": INT, "long": LONG}
TOO_ODD: Final = (ArithmeticError, LookupError, TypeError, ValueError, struct.error)
"""Errors of a value that its type does not have; `decimal` raises an ArithmeticError."""


def packed(value: Any, kind: str) -> bytes | None:
    """Return the bytes of a value of an atomic Iceberg type, None for a value without exact bytes.

    A value is one of JSON as in Delta's statistics, a text as in a partition of the log, or the
    Python value that `typed_value` returns. Not a number has no bytes.
    """
    try:
        return WRITERS[kind.partition("(")[0]](typed_value(value, kind), kind)
    except TOO_ODD:
        return None


def unpacked(data: bytes, kind: str) -> Any:
    """Return a value as Delta's statistics have it in JSON, None for bytes that mean nothing.

    A decimal is a Decimal, which JSON writes with all its digits. A moment has microseconds; whole
    milliseconds are the caller's to make. Binary values have no form in JSON.
    """
    value = value_in(data, kind)
    if isinstance(value, datetime):
        text = value.isoformat(timespec="microseconds")
        return f"{text}Z" if kind == "timestamptz" else text
    if isinstance(value, date):
        return value.isoformat()
    return None if isinstance(value, bytes | bytearray) else value


def value_in(data: bytes, kind: str) -> Any:
    """Return the Python value in the bytes of a type, None for bytes that mean nothing in it.

    Days and moments are dates and datetimes in UTC, the numbers of decimals Decimals.
    """
    try:
        return READERS[kind.partition("(")[0]](bytes(data), kind)
    except TOO_ODD:
        return None


def typed_value(value: Any, kind: str) -> Any:
    """Return the Python value that a value of JSON or a text of the log means in a type.

    Raises ValueError, or another of `TOO_ODD`, for anything that is no value of the type. A moment
    without a zone is one of UTC.
    """
    if isinstance(value, str) and kind not in ("string", "binary"):
        return value_of_text(value, kind)
    if kind in WHOLE:
        return value if type(value) is int else wrong(value, kind)
    if kind in ("float", "double"):
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        return float(value) if is_number else wrong(value, kind)
    if kind.startswith("decimal"):
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        return Decimal(str(value)) if is_number else wrong(value, kind)
    wanted = PYTHON[kind]
    if isinstance(value, datetime) and wanted is datetime:
        return in_utc(value)
    return value if type(value) is wanted else wrong(value, kind)


def value_of_text(text: str, kind: str) -> Any:
    """Return what a text of the log means in a type; raises as `typed_value`."""
    if kind in ("timestamp", "timestamptz"):
        return in_utc(datetime.fromisoformat(text))
    if kind in ("float", "double"):
        return float(text)
    if kind.startswith("decimal"):
        return Decimal(text.strip())
    form = form_of(SPARK[kind])
    if form is None:
        return wrong(text, kind)
    return form.read(text)


def wrong(value: Any, kind: str) -> Any:
    """Raise ValueError for a value that a type does not have."""
    raise ValueError(f"a value of type {kind} must be one, got {value!r}")


def in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC and without a zone."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def micros_of(moment: datetime) -> int:
    """Return the microseconds from 1970 to a moment in UTC."""
    return (in_utc(moment) - EPOCH) // MICRO


def scale_of(kind: str) -> tuple[int, int]:
    """Return the digits of a decimal type, in all and behind the point; raises ValueError."""
    found = DECIMAL_FORM.fullmatch(kind)
    if found is None:
        raise ValueError(f"a decimal must have the form decimal(9, 2), got {kind!r}")
    return int(found[1]), int(found[2])


def unscaled(value: Any, kind: str) -> int:
    """Return the digits of a decimal as a whole number; raises ValueError if some would be lost."""
    precision, scale = scale_of(kind)
    number = Decimal(value)
    digits = int(number.scaleb(scale, EXACT).to_integral_value())
    if Decimal(digits).scaleb(-scale, EXACT) != number or abs(digits) >= 10**precision:
        raise ValueError(f"{value} has more digits than {kind}")
    return digits


def signed_bytes(number: int) -> bytes:
    """Return a whole number in as few bytes as its two's complement has, the first one first."""
    size = ((number + (number < 0)).bit_length() // 8) + 1
    return number.to_bytes(size, signed=True)


def rounded(value: Decimal, kind: str, *, up: bool) -> Decimal:
    """Return the decimal of a type at or beyond a value; raises ValueError if the type has none."""
    precision, scale = scale_of(kind)
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    made = value.quantize(Decimal(1).scaleb(-scale), rounding, EXACT)
    if made and made.adjusted() >= precision - scale:
        raise ValueError(f"{value} is beyond {kind}")
    return made


def write_whole(value: Any, kind: str) -> bytes:
    """Return the bytes of an int or a long."""
    return WHOLE[kind].pack(value)


def write_floating(value: Any, kind: str) -> bytes:
    """Return the bytes of a number; not a number is no bound, and no float is another number."""
    form = FLOAT if kind == "float" else DOUBLE
    data = form.pack(value)
    return wrong(value, kind) if isnan(value) or form.unpack(data)[0] != value else data


def write_date(value: date, _kind: str) -> bytes:
    """Return the days from 1970."""
    return INT.pack((value - FIRST_DAY).days)


def read_whole(data: bytes, kind: str) -> int:
    """Return an int or a long, which may be in the bytes of an int."""
    is_int = kind == "int" or len(data) == INT.size
    return int((INT if is_int else LONG).unpack(data)[0])


def read_floating(data: bytes, kind: str) -> float:
    """Return a float or a double, which may be in the bytes of a float."""
    is_float = kind == "float" or len(data) == FLOAT.size
    found = float((FLOAT if is_float else DOUBLE).unpack(data)[0])
    return wrong(found, kind) if isnan(found) else found


def read_moment(data: bytes, _kind: str) -> datetime:
    """Return a moment, which may be in the bytes of a date."""
    if len(data) == INT.size:
        return EPOCH + timedelta(days=INT.unpack(data)[0])
    return EPOCH + timedelta(microseconds=LONG.unpack(data)[0])


def read_decimal(data: bytes, kind: str) -> Decimal:
    """Return a decimal with the scale of its type."""
    precision, scale = scale_of(kind)
    number = int.from_bytes(data, signed=True)
    if not data or abs(number) >= 10**precision:
        raise ValueError(f"{data!r} is no {kind}")
    return Decimal(number).scaleb(-scale, EXACT)


def read_boolean(data: bytes, _kind: str) -> bool:
    """Return a truth: 0 is false."""
    (number,) = data
    return number != 0


PYTHON: Final[Mapping[str, type]] = {
    "boolean": bool,
    "string": str,
    "binary": bytes,
    "date": date,
    "timestamp": datetime,
    "timestamptz": datetime,
}
WRITERS: Final[Mapping[str, Callable[[Any, str], bytes]]] = {
    "boolean": lambda value, _kind: bytes([value]),
    "int": write_whole,
    "long": write_whole,
    "float": write_floating,
    "double": write_floating,
    "decimal": lambda value, kind: signed_bytes(unscaled(value, kind)),
    "string": lambda value, _kind: value.encode(),
    "binary": lambda value, _kind: value,
    "date": write_date,
    "timestamp": lambda value, _kind: LONG.pack(micros_of(value)),
    "timestamptz": lambda value, _kind: LONG.pack(micros_of(value)),
}
READERS: Final[Mapping[str, Callable[[bytes, str], Any]]] = {
    "boolean": read_boolean,
    "int": read_whole,
    "long": read_whole,
    "float": read_floating,
    "double": read_floating,
    "decimal": read_decimal,
    "string": lambda data, _kind: data.decode(),
    "binary": lambda data, _kind: data,
    "date": lambda data, _kind: FIRST_DAY + timedelta(days=INT.unpack(data)[0]),
    "timestamp": read_moment,
    "timestamptz": read_moment,
}
