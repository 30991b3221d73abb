"""The types by which fields are read: what msgspec must find for a column of a type of Arrow.

A value that is not of the type is refused: no text becomes a number, and no number is cut.
"""

import re
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any, Final, NotRequired, TypedDict

import msgspec
import pyarrow as pa
from msgspec import Meta, Raw, Struct

from ledger.arrow.schema import TableColumn
from ledger.arrow.types import Family, family_of
from ledger.errors import SettingsError

FLOAT_MAX: Final = 3.4028234663852886e38
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

EPOCHS: Final = {"epoch_s": "s", "epoch_ms": "ms", "epoch_us": "us"}


class ExactDecimal(Decimal):
    """A number with all its digits; a text is one if it is written as a number."""


class Float32(float):
    """A number that a FLOAT holds; NaN and infinity are, where a format has them."""


def field_type(column: TableColumn, form: str | None, *, closed: bool = False) -> Any:
    """Return the type of the field of a column; raises SettingsError for a type without one.

    `closed` structs have no fields but those of their type.
    """
    if form == "json":
        if family_of(column.type) is not Family.STRING:
            raise SettingsError(f"column {column.name} must be a STRING to hold JSON")
        return Raw
    if form is not None:
        if family_of(column.type) not in {Family.TIMESTAMP, Family.TIMESTAMP_NTZ}:
            raise SettingsError(f"column {column.name} must be a TIMESTAMP to be read as {form}")
        return whole(64)
    if family_of(column.type) is Family.STRING and () in column.lengths:
        return Annotated[str, Meta(max_length=column.lengths[()][1])]
    return type_of(column.type, column.name, closed=closed)


def type_of(arrow: pa.DataType, name: str, *, closed: bool) -> Any:
    """Return the type of a value of Arrow's type."""
    match family_of(arrow):
        case Family.WHOLE:
            return whole(arrow.bit_width)
        case Family.FLOATING if arrow.bit_width < 64:  # noqa: PLR2004 - bits of a double
            return Float32
        case Family.ARRAY:
            return list[nullable(arrow.value_field, name, closed=closed)]  # type: ignore[misc]
        case Family.MAP:
            keys = type_of(arrow.key_type, name, closed=closed)
            return dict[keys, nullable(arrow.item_field, name, closed=closed)]  # type: ignore[misc,valid-type]
        case Family.STRUCT:
            return closed_struct(arrow, name) if closed else struct_type(arrow, name)
        case family if family in PLAIN:
            return PLAIN[family]
    raise SettingsError(f"column {name} has the type {arrow}, which no field can have")


def whole(bits: int) -> Any:
    """Return the type of whole numbers of some bits."""
    return Annotated[int, Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]


def nullable(field: pa.Field, name: str, *, closed: bool) -> Any:
    """Return the type of a part of a nested value."""
    inner = type_of(field.type, name, closed=closed)
    return inner | None if field.nullable else inner


def struct_type(arrow: pa.DataType, name: str) -> Any:
    """Return the type of an object with the fields of a struct."""
    fields = {
        field.name: NotRequired[nullable(field, name, closed=False)]
        if field.nullable
        else nullable(field, name, closed=False)
        for field in arrow
    }
    return TypedDict(name, fields)  # type: ignore[operator]


def closed_struct(arrow: pa.DataType, name: str) -> Any:
    """Return the type of an object with no fields but those of a struct; see `as_dicts`."""
    fields: list[Any] = []
    for at, field in enumerate(arrow):
        kind = nullable(field, name, closed=True)
        fields.append((f"f{at}", kind, None) if field.nullable else (f"f{at}", kind))
    names = {f"f{at}": field.name for at, field in enumerate(arrow)}
    return msgspec.defstruct(name, fields, rename=names, kw_only=True, forbid_unknown_fields=True)


def as_dicts(value: Any) -> Any:
    """Return a value with dicts in place of objects of closed structs."""
    if isinstance(value, Struct):
        kind = type(value)
        pairs = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
        return {name: as_dicts(getattr(value, attribute)) for name, attribute in pairs}
    if isinstance(value, dict):
        return {name: as_dicts(each) for name, each in value.items()}
    return [as_dicts(each) for each in value] if isinstance(value, list) else value


def exact(kind: type, given: Any) -> Any:
    """Return a value of one of the types that msgspec does not know.

    Raises ValueError for a number that does not fit, and TypeError for another value.
    """
    if isinstance(given, bool) or not isinstance(given, int | float | Decimal | str):
        raise TypeError(f"Expected a number, got `{type(given).__name__}`")
    if kind is ExactDecimal:
        written = given if isinstance(given, str) else str(given)
        if NUMBER.fullmatch(written) is None:
            raise ValueError("Expected a number with digits of ASCII, a point and an exponent")
        return ExactDecimal(written)
    if isinstance(given, str):
        raise TypeError("Expected `float`, got `str`")
    found = Float32(given)
    if not (isinstance(given, float) and not isfinite(given)) and abs(found) > FLOAT_MAX:
        raise ValueError("Expected a `float` of 32 bits")
    return found


def read_from_text(kind: type, given: str) -> Any:
    """Return a value of one of these types from a text that is the whole value."""
    return exact(kind, given if kind is ExactDecimal else Decimal(given))


PLAIN: Final[dict[Family, Any]] = {
    Family.BOOLEAN: bool,
    Family.FLOATING: float,
    Family.DECIMAL: ExactDecimal,
    Family.STRING: str,
    Family.BINARY: bytes,
    Family.DATE: date,
    Family.TIMESTAMP: Annotated[datetime, Meta(tz=True)],
    Family.TIMESTAMP_NTZ: Annotated[datetime, Meta(tz=False)],
}


def in_arrow(values: list[Any], column: TableColumn, form: str | None) -> pa.Array:
    """Return values of fields as a column; raises what Arrow raises for one that does not fit."""
    if form == "json":
        return pa.array([json_text(value) for value in values], column.type)
    if form is not None:
        times = pa.array(values, pa.int64()).cast(pa.timestamp(EPOCHS[form]))
        return times.cast(pa.timestamp("us")).cast(column.type, safe=False)
    if pa.types.is_nested(column.type):
        values = [as_dicts(value) for value in values]
    return pa.array(values, column.type)


def json_text(value: Any) -> str | None:
    """Return a part of a value as JSON; null is no value.

    Raises ValueError for NaN and infinity, which JSON lacks.
    """
    if not isinstance(value, Raw):
        check_finite(value)
    text = bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)
    return None if text == b"null" else text.decode()


def check_finite(value: Any) -> None:
    """Raise ValueError for a number within a value that JSON lacks."""
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("JSON has no NaN and no infinity")
    for each in value.values() if isinstance(value, dict) else ():
        check_finite(each)
    for each in value if isinstance(value, list) else ():
        check_finite(each)
