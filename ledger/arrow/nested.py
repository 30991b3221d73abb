"""Lists and maps of Arrow in parts: their items in one array, and how many items each has.

Arrow's own functions do not take every form, and some of them end the process at a view of lists
with NULLs. So the items of views and maps are gathered here by their offsets.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds


def lengths_of(array: Any) -> Any:
    """Return how many items each list or map has, 0 for NULL."""
    if is_view(array.type):
        found = array.sizes
    elif kinds.is_map(array.type):
        found = pc.subtract(array.offsets[1:], array.offsets[:-1])
    else:
        found = pc.list_value_length(array)
    filled = pc.if_else(array.is_valid(), found, None).fill_null(0)
    return filled.cast(pa.int32())


def items_of(array: Any) -> Any:
    """Return the items of all lists, without those behind NULLs."""
    if not is_view(array.type):
        return pc.list_flatten(array)
    return gathered(array.values, array.offsets, lengths_of(array))


def entries_of(array: Any) -> tuple[Any, Any]:
    """Return the keys and the values of all maps, without those behind NULLs."""
    starts, lengths = array.offsets[:-1], lengths_of(array)
    return gathered(array.keys, starts, lengths), gathered(array.items, starts, lengths)


def is_view(kind: Any) -> bool:
    """Tell whether a type has lists that may lie in any order in their items."""
    return bool(kinds.is_list_view(kind) or kinds.is_large_list_view(kind))


def gathered(values: Any, starts: Any, lengths: Any) -> Any:
    """Return the items that begin at `starts`, list after list."""
    ends = offsets_of(lengths)
    parents = pc.list_parent_indices(pa.ListArray.from_arrays(ends, pa.nulls(ends[-1].as_py())))
    shifts = pc.subtract(starts.cast(pa.int64()), ends[:-1].cast(pa.int64()))
    places = pc.add(shifts.take(parents), pa.arange(0, len(parents)))
    return values.take(places)


def offsets_of(lengths: Any) -> Any:
    """Return where each list begins in its items, and where the last one ends."""
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])


def list_of(items: Any, lengths: Any, gone: Any, target: Any) -> Any:
    """Return lists of a type; `gone` tells which ones are NULL."""
    return pa.ListArray.from_arrays(offsets_of(lengths), items, type=target, mask=gone)


def map_of(entries: tuple[Any, Any], lengths: Any, gone: Any, target: Any) -> Any:
    """Return maps of a type; `gone` tells which ones are NULL."""
    keys, values = entries
    return pa.MapArray.from_arrays(offsets_of(lengths), keys, values, target, mask=gone)


def struct_of(children: list[Any], gone: Any, target: Any) -> Any:
    """Return structs of a type; `gone` tells which ones are NULL."""
    if not children:  # Arrow cannot tell how many there are.
        return pa.Array.from_buffers(target, len(gone), [pc.invert(gone).buffers()[1]], offset=0)
    return pa.StructArray.from_arrays(children, fields=list(target), mask=gone)
