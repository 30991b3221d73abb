"""Casts of Arrow arrays to the types of a table's columns: only those that lose nothing.

A whole number may become a wider one, a decimal or a double, if all its digits stay. A text never
becomes a number or a date, and a time without a zone never becomes an instant: what they mean is
for the caller to say. Fields of a struct are found by name, in any case of letters.
"""

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from ledger.arrow.nested import entries_of, items_of, lengths_of, list_of, map_of, struct_of
from ledger.arrow.types import LISTS, sql_type

ARROW_ERRORS: Final = (pa.ArrowException, OverflowError)


def fitted(array: Any, target: Any, path: str) -> Any:
    """Return an array in the type of its column; `path` names the column in errors.

    Raises TypeError for a type whose values do not mean the same in the column, and ValueError for
    a value that the column cannot hold.
    """
    if array.type == target:
        return array
    cast = next(
        (cast for source, wanted, cast in CASTS if source(array.type) and wanted(target)), None
    )
    if cast is None:
        raise TypeError(
            f"column {path} must be {sql_type(target)}, got Arrow's {array.type}"
            f"{advice(array.type, target)}"
        )
    return cast(array, target, path)


def advice(source: Any, target: Any) -> str:
    """Return what a caller can do about a type that does not fit, "" without an advice."""
    if kinds.is_timestamp(source) and kinds.is_timestamp(target):
        if target.tz:
            return ": give the times a zone first, for only the caller knows theirs"
        return ": take the zone away first, for the column has times without a zone"
    if kinds.is_floating(source) and kinds.is_decimal(target):
        return ": cast it to a decimal first, which says how to round"
    if is_text(source):
        return ": parse the texts first"
    return ""


def all_null(array: Any, target: Any, _path: str) -> Any:
    """Return as many NULLs of the target's type."""
    return pa.nulls(len(array), target)


def as_cast(array: Any, target: Any, path: str) -> Any:
    """Return an array by Arrow's checked cast."""
    try:
        return array.cast(target)
    except ARROW_ERRORS as error:
        raise unfit(path, target, error) from None


def as_decimal(array: Any, target: Any, path: str) -> Any:
    """Return whole numbers as decimals; the first step has room for every number."""
    return as_cast(as_cast(array, pa.decimal128(20, 0), path), target, path)


def as_exact(array: Any, target: Any, path: str) -> Any:
    """Return an array in a type with fewer digits; raises ValueError unless all values stay."""
    found = as_cast(array, target, path)
    back = found.cast(array.type)
    same = pc.equal(back, array)
    if kinds.is_floating(array.type):
        same = pc.or_(same, pc.is_nan(array))
    if pc.all(same).as_py() is False:
        first = pc.index(same, pa.scalar(value=False)).as_py()
        raise unfit(path, target, f"{array[first].as_py()!r} would become {found[first].as_py()!r}")
    return found


def unfit(path: str, target: Any, why: object) -> ValueError:
    """Return the error for a value that its column cannot hold."""
    return ValueError(f"column {path} must be {sql_type(target)}: {why}")


def fitted_struct(array: Any, target: Any, path: str) -> Any:
    """Return structs with the fields of the target; a field that is not there is NULL."""
    found = by_name([field.name for field in array.type], path)
    wanted = {field.name.lower() for field in target}
    if unknown := [name for name in found if name not in wanted]:
        raise ValueError(f"column {path} has no field {unknown[0]}: {sql_type(target)}")
    gone, children = array.is_null(), []
    for field in target:
        inner = f"{path}.{field.name}"
        at = found.get(field.name.lower())
        child = pa.nulls(len(array), field.type) if at is None else array.field(at)
        children.append(fitted(child, field.type, inner))
    return struct_of(children, gone, target)


def fitted_list(array: Any, target: Any, path: str) -> Any:
    """Return lists whose items have the target's type."""
    items = fitted(items_of(array), target.value_type, f"{path}.element")
    return list_of(items, lengths_of(array), array.is_null(), target)


def fitted_map(array: Any, target: Any, path: str) -> Any:
    """Return maps whose keys and values have the target's types."""
    keys, values = entries_of(array)
    entries = (
        fitted(keys, target.key_type, f"{path}.key"),
        fitted(values, target.item_type, f"{path}.value"),
    )
    return map_of(entries, lengths_of(array), array.is_null(), target)


def by_name(names: list[str], path: str) -> dict[str, int]:
    """Return the place of each name in lower case; raises ValueError for a name given twice."""
    found: dict[str, int] = {}
    for at, name in enumerate(names):
        if found.setdefault(name.lower(), at) != at:
            raise ValueError(
                f"{path} must have each name once, in any case of letters, got {names}"
            )
    return found


def check_filled(filled: Any, path: str) -> None:
    """Raise ValueError if a NOT NULL column has no value somewhere."""
    if pc.all(filled).as_py() is False:
        row = pc.index(filled, pa.scalar(value=False)).as_py()
        raise ValueError(
            f"column {path} is NOT NULL and must have a value in each row, got NULL in row {row}"
        )


def is_text(kind: Any) -> bool:
    """Tell whether a type has texts."""
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def is_bytes(kind: Any) -> bool:
    """Tell whether a type has bytes."""
    plain = kinds.is_binary(kind) or kinds.is_large_binary(kind)
    return bool(plain or kinds.is_fixed_size_binary(kind) or kinds.is_binary_view(kind))


def is_list(kind: Any) -> bool:
    """Tell whether a type has lists."""
    return any(fits(kind) for fits in LISTS)


def is_instant(kind: Any) -> bool:
    """Tell whether a type has times with a zone."""
    return bool(kinds.is_timestamp(kind) and kind.tz)


def is_wall_time(kind: Any) -> bool:
    """Tell whether a type has times without a zone."""
    return bool(kinds.is_timestamp(kind) and not kind.tz)


# The first fitting row counts.
CASTS: Final[tuple[tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[..., Any]], ...]] = (
    (kinds.is_null, lambda _: True, all_null),
    (kinds.is_struct, kinds.is_struct, fitted_struct),
    (is_list, is_list, fitted_list),
    (kinds.is_map, kinds.is_map, fitted_map),
    (kinds.is_integer, kinds.is_integer, as_cast),
    (kinds.is_integer, kinds.is_floating, as_cast),
    (kinds.is_integer, kinds.is_decimal, as_decimal),
    (kinds.is_floating, kinds.is_floating, as_exact),
    (kinds.is_floating, kinds.is_integer, as_cast),
    (kinds.is_decimal, kinds.is_decimal, as_cast),
    (kinds.is_decimal, kinds.is_integer, as_cast),
    (is_text, is_text, as_cast),
    (is_bytes, is_bytes, as_cast),
    (kinds.is_date, kinds.is_date, as_cast),
    (kinds.is_date, is_wall_time, as_cast),
    (is_wall_time, kinds.is_date, as_exact),
    (is_wall_time, is_wall_time, as_cast),
    (is_instant, is_instant, as_cast),
)
