"""Rows of Python values: dicts and lists as Arrow arrays, with the values of NumPy and pandas.

A value is taken if its type leaves no doubt about what it means in its column, as for partition
values: a datetime without a zone is no TIMESTAMP, 3.5 is no INT, and 1 is no STRING.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import types as kinds

from ledger.arrow.derived import derived
from ledger.arrow.lossless import ARROW_ERRORS
from ledger.arrow.types import Family, family_of, sql_type
from ledger.definitions.given import shown
from ledger.definitions.partition_texts import python_value


def columns_of_dicts(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the columns of a list of dicts; a key that a row does not have is NULL there.

    Raises TypeError for a row that is not a dict, or a key that is not a text.
    """
    names: dict[str, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number} must be a dict of columns, got {shown(row)}")
        names.update(dict.fromkeys(row))
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"the name of a column must be a text, got {name!r}")
    return {name: [row.get(name) for row in rows] for name in names}


def array_of(values: Iterable[Any], target: Any, path: str) -> Any:
    """Return values as an array of a type, or of the type that they have if `target` is None.

    Raises TypeError for a value of another type, ValueError for one that the type cannot hold.
    """
    values = list(values)
    try:
        if target is None:
            return pa.array(derived(values, path))
        known = TAKEN.get(family_of(target))
        if known is None or not known.exact.issuperset(map(type, values)):
            values = [taken(value, target, path) for value in values]
        return pa.array(values, target)
    except ARROW_ERRORS as error:
        wanted = (
            f"must be {sql_type(target)}" if target is not None else "must have values of one type"
        )
        raise ValueError(f"column {path} {wanted}: {error}") from None


def taken(value: Any, target: Any, path: str) -> Any:
    """Return a value in a form that Arrow takes for the type; raises as `array_of`."""
    family = family_of(target)
    if family is Family.ARRAY and hasattr(value, "tolist"):
        value = value.tolist()
    try:
        value = python_value(value)
    except TypeError as error:
        raise TypeError(f"column {path} {error}, got {value!r}") from None
    if value is None:
        return None
    if family is Family.STRUCT:
        return taken_struct(value, target, path)
    if family is Family.MAP and isinstance(value, Mapping | list):
        pairs = value.items() if isinstance(value, Mapping) else value
        return [
            (
                taken(key, target.key_type, f"{path}.key"),
                taken(item, target.item_type, f"{path}.value"),
            )
            for key, item in pairs
        ]
    if family is Family.ARRAY and isinstance(value, list | tuple):
        return [taken(each, target.value_type, f"{path}.element") for each in value]
    known = TAKEN.get(family)
    if known is not None and (found := known.take(value, target)) is not None:
        return found
    raise TypeError(
        f"column {path} must be {sql_type(target)}, got {shown(value)}{zone_advice(value, target)}"
    )


def taken_struct(value: Any, target: Any, path: str) -> dict[str, Any]:
    """Return a struct as a dict of the type's fields; raises as `array_of`."""
    if not isinstance(value, Mapping):
        raise TypeError(f"column {path} must be a dict, got {shown(value)}")
    fields = {field.name.lower(): field for field in target}
    found: dict[str, Any] = {}
    for name, each in value.items():
        field = fields.get(str(name).lower())
        if field is None or field.name in found:
            why = "has no field" if field is None else "has twice the field"
            raise ValueError(f"column {path} {why} {name}: {sql_type(target)}")
        found[field.name] = taken(each, field.type, f"{path}.{field.name}")
    for field in target:
        if not field.nullable and found.get(field.name) is None:
            raise ValueError(f"column {path}.{field.name} is NOT NULL, got {shown(value)}")
    return found


def zone_advice(value: Any, target: Any) -> str:
    """Return what to do about a time with or without a zone, "" for other values."""
    if not isinstance(value, datetime) or not kinds.is_timestamp(target):
        return ""
    return ": give it a zone (tzinfo)" if target.tz else ": the column has times without a zone"


def whole_number(value: Any, _target: Any) -> Any:
    """Return a whole number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float | Decimal):
        is_whole = math.isfinite(value) and value == int(value)
        return int(value) if is_whole else None
    return value if isinstance(value, int) else None


def number(value: Any, _target: Any) -> Any:
    """Return a number that a double holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def decimal(value: Any, _target: Any) -> Any:
    """Return a decimal."""
    return value if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def day(value: Any, _target: Any) -> Any:
    """Return a date; a midnight without a zone is one, as pandas has days in this form."""
    if isinstance(value, datetime):
        is_day = value.tzinfo is None and value.time() == time()
        return value.date() if is_day else None
    return value if isinstance(value, date) else None


def moment(value: Any, target: Any) -> Any:
    """Return a time; a date is a midnight without a zone."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return None if target.tz else datetime.combine(value, time())
    fits = isinstance(value, datetime) and (value.tzinfo is not None) is bool(target.tz)
    return value if fits else None


def of_class(*classes: type) -> Callable[[Any, Any], Any]:
    """Return a function that takes values of some classes."""
    return lambda value, _target: value if isinstance(value, classes) else None


NONE: Final = type(None)


class PythonValues(NamedTuple):
    """What a type takes: the types whose values Arrow takes as they are meant, and any value."""

    exact: frozenset[type]
    take: Callable[[Any, Any], Any]


TAKEN: Final[Mapping[Family, PythonValues]] = {
    Family.BOOLEAN: PythonValues(frozenset({bool, NONE}), of_class(bool)),
    Family.WHOLE: PythonValues(frozenset({int, NONE}), whole_number),
    Family.FLOATING: PythonValues(frozenset({float, NONE}), number),
    Family.DECIMAL: PythonValues(frozenset({Decimal, int, NONE}), decimal),
    Family.STRING: PythonValues(frozenset({str, NONE}), of_class(str)),
    Family.BINARY: PythonValues(frozenset({bytes, NONE}), of_class(bytes, bytearray, memoryview)),
    Family.DATE: PythonValues(frozenset({date, NONE}), day),
    Family.TIMESTAMP: PythonValues(frozenset(), moment),
    Family.TIMESTAMP_NTZ: PythonValues(frozenset(), moment),
}
