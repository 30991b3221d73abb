"""Casts of Arrow arrays that lose nothing, at every depth.

Rows that come in and files that are read are cast by the same recursion. The caller says
which types may become which, how the fields of structs are found, and what is raised.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from ledger.arrow.nested import entries_of, items_of, lengths_of, list_of, map_of, struct_of
from ledger.arrow.types import NESTED, Family, family_of
from ledger.properties.type_text import ELEMENT, KEY, VALUE

ARROW_ERRORS: Final = (pa.ArrowException, OverflowError)

AtomicCast = Callable[[Any, Any], Any]
"""Casts an array to a type; raises one of ARROW_ERRORS for a value that would change."""


class CastRules(NamedTuple):
    """What may become what.

    `casts` has the casts of values without parts, by the families of both types. `places` returns
    for each field of a struct its place in another struct, None if it is absent there, and its type
    in `then`. `on_loss` returns the error for a type that does not become another, or for a value
    that is the reason why.
    """

    casts: Mapping[tuple[Family, Family], AtomicCast]
    places: Callable[[Any, Any, Any, str], Iterable[tuple[int | None, Any]]]
    on_loss: Callable[[Any, Any, str, Exception | None], Exception]


def lossless_cast(array: Any, target: Any, rules: CastRules, path: str, then: Any = None) -> Any:
    """Return an array in a type; raises what the rules say if a value would be lost.

    `then` is the type for which the values were written, by default the target.
    """
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if kinds.is_dictionary(array.type):
        array = array.dictionary_decode()
    source, wanted = family_of(array.type), family_of(target)
    if source is Family.VOID:
        return pa.nulls(len(array), target)
    is_nested = source is wanted and wanted in NESTED
    if array.type == target and not is_nested:
        return array
    cast = rules.casts.get((source, wanted))
    if cast is None and not is_nested:
        raise rules.on_loss(array.type, target, path, None)
    try:
        return cast(array, target) if cast else nested_cast(array, target, rules, path, then)
    except ARROW_ERRORS as why:
        raise rules.on_loss(array.type, target, path, why) from None


def nested_cast(array: Any, target: Any, rules: CastRules, path: str, then: Any) -> Any:
    """Return an array whose parts are cast; raises as `lossless_cast`."""
    gone, then = array.is_null(), target if then is None else then

    def part(values: Any, name: str, kind: Any, kind_then: Any) -> Any:
        return lossless_cast(values, kind, rules, f"{path}.{name}", kind_then)

    if kinds.is_struct(target):
        places = rules.places(array.type, target, then, path)
        children = [
            pa.nulls(len(array), field.type)
            if place is None
            else part(array.field(place), field.name, field.type, inner)
            for field, (place, inner) in zip(target, places, strict=True)
        ]
        return struct_of(children, gone, target)
    before = then if family_of(then) is family_of(target) else target
    if kinds.is_map(target):
        keys, values = entries_of(array)
        entries = (
            part(keys, KEY, target.key_type, before.key_type),
            part(values, VALUE, target.item_type, before.item_type),
        )
        return map_of(entries, lengths_of(array), gone, target)
    items = part(items_of(array), ELEMENT, target.value_type, before.value_type)
    return list_of(items, lengths_of(array), gone, target)


def as_cast(array: Any, target: Any) -> Any:
    """Return an array by Arrow's checked cast."""
    return array.cast(target)


def as_decimal(array: Any, target: Any) -> Any:
    """Return whole numbers as decimals; the first step has room for every number."""
    return array.cast(pa.decimal128(20, 0)).cast(target)


def as_exact(array: Any, target: Any) -> Any:
    """Return an array in a type with fewer digits, if all values stay."""
    found = array.cast(target)
    same = pc.equal(found.cast(array.type), array)
    if kinds.is_floating(array.type):
        same = pc.or_(same, pc.is_nan(array))
    if pc.all(same).as_py() is False:
        first = pc.index(same, pa.scalar(value=False)).as_py()
        why = f"{array[first].as_py()!r} would become {found[first].as_py()!r}"
        raise pa.ArrowInvalid(why)
    return found
