"""Values of rows in the types of their columns: only casts that lose nothing.

A whole number may become a wider one, a decimal or a double, if all its digits stay. A text never
becomes a number or a date, and a time without a zone never becomes an instant: what they mean is
for the caller to say. Fields of a struct are found by name, in any case of letters.
"""

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.lossless import CastRules, as_cast, as_decimal, as_exact, lossless_cast
from ledger.arrow.types import Family, family_of, sql_type

CASTS: Final = {
    (Family.WHOLE, Family.WHOLE): as_cast,
    (Family.WHOLE, Family.FLOATING): as_cast,
    (Family.WHOLE, Family.DECIMAL): as_decimal,
    (Family.FLOATING, Family.FLOATING): as_exact,
    (Family.FLOATING, Family.WHOLE): as_cast,
    (Family.DECIMAL, Family.DECIMAL): as_cast,
    (Family.DECIMAL, Family.WHOLE): as_cast,
    (Family.STRING, Family.STRING): as_cast,
    (Family.BINARY, Family.BINARY): as_cast,
    (Family.DATE, Family.DATE): as_cast,
    (Family.DATE, Family.TIMESTAMP_NTZ): as_cast,
    (Family.TIMESTAMP_NTZ, Family.DATE): as_exact,
    (Family.TIMESTAMP_NTZ, Family.TIMESTAMP_NTZ): as_cast,
    (Family.TIMESTAMP, Family.TIMESTAMP): as_cast,
}


def fitted(array: Any, target: Any, path: str) -> Any:
    """Return an array in the type of its column; `path` names the column in errors.

    Raises TypeError for a type whose values do not mean the same in the column, and ValueError for
    a value that the column cannot hold.
    """
    return array if array.type == target else lossless_cast(array, target, RULES, path)


def places_of(source: Any, target: Any, _then: Any, path: str) -> Iterable[tuple[int | None, Any]]:
    """Return the places of fields by name; a field that is not there is NULL."""
    places = by_name([field.name for field in source], path)
    wanted = {field.name.lower() for field in target}
    if unknown := [name for name in places if name not in wanted]:
        raise ValueError(f"column {path} has no field {unknown[0]}: {sql_type(target)}")
    return [(places.get(field.name.lower()), None) for field in target]


def misfit(source: Any, target: Any, path: str, why: Exception | None) -> Exception:
    """Return the error for a type that means something else, or for a value that does not fit."""
    if why is not None:
        return unfit(path, target, why)
    return TypeError(
        f"column {path} must be {sql_type(target)}, got Arrow's {source}{advice(source, target)}"
    )


RULES: Final = CastRules(CASTS, places_of, misfit)


def advice(source: Any, target: Any) -> str:
    """Return what a caller can do about a type that does not fit, "" without an advice."""
    match family_of(source), family_of(target):
        case Family.TIMESTAMP_NTZ, Family.TIMESTAMP:
            return ": give the times a zone first, for only the caller knows theirs"
        case Family.TIMESTAMP, Family.TIMESTAMP_NTZ:
            return ": take the zone away first, for the column has times without a zone"
        case Family.FLOATING, Family.DECIMAL:
            return ": cast it to a decimal first, which says how to round"
        case Family.STRING, _:
            return ": parse the texts first"
    return ""


def unfit(path: str, target: Any, why: object) -> ValueError:
    """Return the error for a value that its column cannot hold."""
    return ValueError(f"column {path} must be {sql_type(target)}: {why}")


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
    return family_of(kind) is Family.STRING


def is_list(kind: Any) -> bool:
    """Tell whether a type has lists."""
    return family_of(kind) is Family.ARRAY
