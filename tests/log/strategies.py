"""Any value of any type on the wire, built from the types of its fields."""

from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

LONGS = st.integers(-(2**63), 2**63 - 1)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: LONGS,
    str: st.text(max_size=20),
    bytes: st.binary(max_size=20),
    bool: st.booleans(),
    type(None): st.none(),
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a field; sequences are lists, as they are decoded."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    if hasattr(annotation, "_fields"):
        return records_of(annotation)
    if get_origin(annotation) is Literal:
        return st.sampled_from(get_args(annotation))
    if get_origin(annotation) is Sequence:
        return st.lists(values_of(get_args(annotation)[0]), max_size=4)
    return st.one_of([values_of(option) for option in get_args(annotation)])


def records_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for a NamedTuple."""
    hints = get_type_hints(kind)
    return st.builds(kind, *[values_of(hints[name]) for name in kind._fields])
