"""The types by which fields are read: what msgspec must find for a column of a type of Arrow.

A value that is not of the type is refused: no text becomes a number, and no number is cut.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, NotRequired, TypedDict

import msgspec
import pyarrow as pa
from msgspec import Meta, Raw

from ledger.arrow.schema import TableColumn
from ledger.arrow.types import Family, family_of
from ledger.errors import SettingsError

FLOAT_MAX: Final = 3.4028234663852886e38

EPOCHS: Final = {"epoch_s": "s", "epoch_ms": "ms", "epoch_us": "us"}


def field_type(column: TableColumn, form: str | None) -> Any:
    """Return the type of the field of a column; raises SettingsError for a type without one."""
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
    return type_of(column.type, column.name)


def type_of(arrow: pa.DataType, name: str) -> Any:
    """Return the type of a value of Arrow's type."""
    match family_of(arrow):
        case Family.WHOLE:
            return whole(arrow.bit_width)
        case Family.FLOATING if arrow.bit_width < 64:  # noqa: PLR2004 - bits of a double
            return Annotated[float, Meta(ge=-FLOAT_MAX, le=FLOAT_MAX)]
        case Family.ARRAY:
            return list[nullable(arrow.value_field, name)]  # type: ignore[misc]
        case Family.MAP:
            return dict[type_of(arrow.key_type, name), nullable(arrow.item_field, name)]  # type: ignore[misc]
        case Family.STRUCT:
            return struct_type(arrow, name)
        case family if family in PLAIN:
            return PLAIN[family]
    raise SettingsError(f"column {name} has the type {arrow}, which no field can have")


def whole(bits: int) -> Any:
    """Return the type of whole numbers of some bits."""
    return Annotated[int, Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]


def nullable(field: pa.Field, name: str) -> Any:
    """Return the type of a part of a nested value."""
    inner = type_of(field.type, name)
    return inner | None if field.nullable else inner


def struct_type(arrow: pa.DataType, name: str) -> Any:
    """Return the type of an object with the fields of a struct."""
    fields = {
        field.name: NotRequired[nullable(field, name)] if field.nullable else nullable(field, name)
        for field in arrow
    }
    return TypedDict(name, fields)  # type: ignore[operator]


PLAIN: Final[dict[Family, Any]] = {
    Family.BOOLEAN: bool,
    Family.FLOATING: float,
    Family.DECIMAL: Decimal,
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
    return pa.array(values, column.type)


def json_text(value: Any) -> str | None:
    """Return a part of a value as JSON; null is no value."""
    text = bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)
    return None if text == b"null" else text.decode()
