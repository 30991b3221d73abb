"""Partition tuples: the values of a file in the fields of a spec, as texts of the log and in Avro.

In a manifest the values of a file stand by the ids of the spec's fields. Years, months and hours
are counted from 1970 there; the log has them as texts. A day comes as a date from some writers, and
as a number of days from others.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from ledger.core.partitions.names import Values
from ledger.core.partitions.transforms import CUT_TEXT
from ledger.core.partitions.values import DOUBLE_FORM, FLOAT_FORM, Form, read, written
from ledger.iceberg.partitioning import (
    INT_MAX,
    VOID,
    PartitionField,
    fields_of_spec,
    partition_types,
)
from ledger.iceberg.types import spark_type
from ledger.iceberg.values import EPOCH, FIRST_DAY, packed, scale_of, signed_bytes, value_in

FLOATING: Final[Mapping[str, Form]] = {"float": FLOAT_FORM, "double": DOUBLE_FORM}
INT_SPAN: Final = 1 << 32
MONTHS: Final = 12
HOURS: Final = 24


def tuple_of(values: Values, spec: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[int, Any]:
    """Return the partition of a file, texts of the log, as a manifest has it: by ids of fields.

    Values have the order of the spec's fields, `void` left out. A day is a number of days, a moment
    one of microseconds, a decimal the bytes of its digits. Raises ValueError for a text that is no
    value of its field.
    """
    fields = [field for field in fields_of_spec(spec) if field.transform != VOID]
    if len(values) != len(fields):
        raise ValueError(f"a partition must have {len(fields)} values, got {len(values)}")
    types = partition_types(spec, schema)
    return {
        field.number: None if text is None else avro_value(text, field, types[field.number][1])
        for field, text in zip(fields, values, strict=True)
    }


def avro_value(text: str, field: PartitionField, kind: str) -> Any:
    """Return the value of a text of the log; raises ValueError."""
    word = field.transform.partition("[")[0]
    if word in TEXTS:
        return TEXTS[word][0](text)
    if word == "truncate" and kind == "string":
        return text.removeprefix(CUT_TEXT)
    if word == "truncate" and kind == "int":
        return in_int(int(text))
    if kind in FLOATING:
        # A text is the shortest one of its number, which stands between the floats.
        return read(FLOATING[kind], text)
    data = packed(text, kind)
    if data is None:
        raise ValueError(
            f"a value of the partition field {field.name} must be of type {kind}, got {text!r}"
        )
    if kind in ("date", "timestamp", "timestamptz"):
        return int.from_bytes(data, "little", signed=True)
    return fixed(data, kind) if kind.startswith("decimal") else value_in(data, kind)


def in_int(number: int) -> int:
    """Return a number as an int holds it: a cut below the least int begins again at the top."""
    return (number + INT_MAX + 1) % INT_SPAN - INT_MAX - 1


def fixed(data: bytes, kind: str) -> bytes:
    """Return the bytes of a decimal, filled up to the size that its type has in Avro."""
    return data.rjust(fixed_size(kind), b"\xff" if data[0] & 0x80 else b"\0")


def fixed_size(kind: str) -> int:
    """Return the number of bytes that hold each decimal of a type."""
    precision, _ = scale_of(kind)
    return len(signed_bytes(10**precision - 1))


def values_of(
    tuple_: Mapping[int, Any], spec: Mapping[str, Any], schema: Mapping[str, Any]
) -> Values:
    """Return the partition of a manifest's entry as texts of the log, in the order of the spec.

    Values stand by the ids of fields. A day may be a date or a number of days, a decimal a Decimal
    or its bytes. Raises ValueError for a value that its field does not have.
    """
    types = partition_types(spec, schema)
    found = []
    for field in fields_of_spec(spec):
        if field.transform == VOID:
            continue
        value = tuple_.get(field.number)
        text = None if value is None else log_text(value, field, types[field.number][1])
        found.append(text)
    return tuple(found)


def log_text(value: Any, field: PartitionField, kind: str) -> str:
    """Return a value of a manifest as the log has it; raises ValueError."""
    word, _, width = field.transform.rstrip("]").partition("[")
    try:
        if word == "bucket":
            return str(range(int(width)).index(value))
        if word in TEXTS:
            return TEXTS[word][1](value)
        if word == "truncate" and kind == "string" and isinstance(value, str):
            return f"{CUT_TEXT}{value}"
        if word == "truncate" and kind == "int" and type(value) is int:
            is_around = value > 0 and value % int(width)
            return str(value - INT_SPAN if is_around else value)
        text = plain_text(value, kind)
        found = written(text, spark_type(kind, field.name)[0])
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(
            f"a value of the partition field {field.name} must be of type {kind}, got "
            f"{str(value)[:80]!r}"
        ) from error
    if found is None and kind == "string":
        raise ValueError(
            f"a value of the partition field {field.name} must be a text of the log, got "
            f"{value!r}, which is NULL there"
        )
    return "" if found is None else found


def plain_text(value: Any, kind: str) -> str:
    """Return a value of a type as a text; raises ValueError or TypeError for another value."""
    if kind.startswith("decimal"):
        number = value if isinstance(value, Decimal) else value_in(value, kind)
        return format(Decimal(number), "f")
    if kind == "date":
        return day_text(value)
    if kind in ("timestamp", "timestamptz"):
        moment = value if isinstance(value, datetime) else EPOCH + timedelta(microseconds=value)
        zone = "Z" if kind == "timestamptz" else ""
        return f"{moment.replace(tzinfo=None).isoformat(' ')}{zone}"
    if kind == "boolean":
        return {True: "true", False: "false"}[checked(value, bool)]
    if kind in ("float", "double"):
        return repr(float(checked(value, float, int)))
    return checked(value, str) if kind == "string" else str(checked(value, int))


def checked(value: Any, *wanted: type) -> Any:
    """Return a value of one of some types; raises TypeError for any other one."""
    if type(value) not in wanted:
        raise TypeError(f"{value!r} is another value")
    return value


def day_text(value: Any) -> str:
    """Return a day, given as a date or as the number of days from 1970; raises as `checked`."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return (FIRST_DAY + timedelta(days=checked(value, int))).isoformat()


def days_in(text: str) -> int:
    """Return the number of days from 1970 to a day."""
    return (date.fromisoformat(text) - FIRST_DAY).days


def years_in(text: str) -> int:
    """Return the number of years from 1970 to a year."""
    return int(text) - EPOCH.year


def year_text(value: Any) -> str:
    """Return the year that a number of years after 1970 means."""
    return str(date(EPOCH.year + checked(value, int), 1, 1).year)


def months_in(text: str) -> int:
    """Return the number of months from 1970 to a month such as 2026-01."""
    day = date.fromisoformat(f"{text}-01")
    return (day.year - EPOCH.year) * MONTHS + day.month - 1


def month_text(value: Any) -> str:
    """Return the month that a number of months after January 1970 means."""
    years, months = divmod(checked(value, int), MONTHS)
    return date(EPOCH.year + years, months + 1, 1).isoformat()[:7]


def hours_in(text: str) -> int:
    """Return the number of hours from 1970 to an hour such as 2026-01-31-23."""
    day, _, hour = text.rpartition("-")
    moment = datetime.fromisoformat(f"{day}T{hour}:00")
    return (moment - EPOCH) // timedelta(hours=1)


def hour_text(value: Any) -> str:
    """Return the hour that a number of hours after 1970 means."""
    moment = EPOCH + timedelta(hours=checked(value, int))
    return f"{moment.date().isoformat()}-{moment.hour:02}"


TEXTS: Final[Mapping[str, tuple[Callable[[str], int], Callable[[Any], str]]]] = {
    "year": (years_in, year_text),
    "month": (months_in, month_text),
    "day": (days_in, day_text),
    "hour": (hours_in, hour_text),
}
"""How the results of a transform are counted, and how the log spells them."""
