"""Types that are derived from values of Python: the values of a column must be of one kind.

Arrow derives a type from mixed values too, and some of them change: a datetime becomes a date, a
time without a zone an instant, a text bytes, and True a 1.0.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from typing import Any, Final

from ledger.definitions.given import shown
from ledger.definitions.partition_texts import python_value

NONE: Final = type(None)
SIMPLE: Final = frozenset({bool, int, float, str, bytes, NONE})
"""Types whose values stay as they are."""

MIXED: Final = (frozenset({"int", "float"}), frozenset({"int", "Decimal"}))
"""Kinds that may stand in one column: Arrow refuses a whole number that a double does not hold."""

KINDS: Final[Sequence[tuple[type | tuple[type, ...], Callable[[Any], str]]]] = (
    (bool, lambda _: "bool"),
    (int, lambda _: "int"),
    (float, lambda _: "float"),
    (Decimal, lambda _: "Decimal"),
    (str, lambda _: "str"),
    ((bytes, bytearray, memoryview), lambda _: "bytes"),
    (datetime, lambda value: "datetime with a zone" if value.tzinfo else "datetime without a zone"),
    (date, lambda _: "date"),
    (Mapping, lambda _: "dict"),
    ((list, tuple), lambda _: "list"),
)


def derived(values: Iterable[Any], path: str) -> list[Any]:
    """Return values from which Arrow derives a type that changes none of them.

    Raises TypeError for values of several kinds, and for a value that has no kind in a table.
    """
    values = list(values)
    types = {type(value) for value in values} - {NONE}
    if len(types) == 1 and types <= SIMPLE:
        return values
    found = [settled(value, path) for value in values]
    kinds = {kind_of(each): each for each in found if each is not None}
    if len(kinds) > 1 and frozenset(kinds) not in MIXED:
        (one, first), (other, second), *_ = kinds.items()
        raise TypeError(
            f"column {path} must have values of one kind, got {one} ({shown(first)}) and {other} "
            f"({shown(second)}): make them one kind, or give the column a type in a table or schema"
        )
    if len(kinds) > 1 and "Decimal" in kinds:  # Arrow takes the digits of the first value.
        return [Decimal(each) if isinstance(each, int) else each for each in found]
    if "list" in kinds:
        items = chain.from_iterable(each for each in found if each is not None)
        inner = iter(derived(items, f"{path}.element"))
        return [None if each is None else [next(inner) for _ in range(len(each))] for each in found]
    return derived_structs(found, path) if "dict" in kinds else found


def derived_structs(values: Sequence[Any], path: str) -> list[Any]:
    """Return dicts whose values have one kind for each key; raises as `derived`."""
    names = dict.fromkeys(chain.from_iterable(value for value in values if value is not None))
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"column {path} must have texts as names of fields, got {name!r}")
    inner = {
        name: derived([None if value is None else value.get(name) for value in values], inside)
        for name in names
        for inside in [f"{path}.{name}"]
    }
    return [
        None if each is None else {name: inner[name][at] for name in each}
        for at, each in enumerate(values)
    ]


def settled(value: Any, path: str) -> Any:
    """Return a value of NumPy, pandas or Arrow as one of Python; raises TypeError."""
    if hasattr(value, "tolist") and getattr(value, "ndim", None):
        return list(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, AbstractSet):
        raise TypeError(f"column {path} must have lists, got a set, which has no order")
    try:
        return python_value(value)
    except TypeError as error:
        raise TypeError(f"column {path} {error}, got {shown(value)}") from None


def kind_of(value: Any) -> str:
    """Return the kind of a value, for others the name of their class."""
    found = (name(value) for kind, name in KINDS if isinstance(value, kind))
    return next(found, type(value).__name__)
