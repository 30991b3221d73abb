"""Frames and arrays of pandas, polars and NumPy as columns of Arrow.

A frame of pandas is its columns and the named levels of its index. An index without a name is left
out if its type has whole numbers, which number the rows, and refused otherwise.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.lossless import ARROW_ERRORS
from ledger.arrow.python_rows import array_of
from ledger.definitions.given import shown

NOT_IN_ARROW: Final = frozenset({"Object", "Int128", "UInt128"})
COARSE_UNITS: Final = frozenset({"Y", "M", "W", "h", "m"})
UNIT: Final = re.compile(r"datetime64\[(?:\d+)?(\w+)\]")


def pandas_columns(frame: Any) -> Mapping[str, Any]:
    """Return the columns of a frame of pandas; raises TypeError or ValueError for its index."""
    levels = [frame.index.get_level_values(at) for at in range(frame.index.nlevels)]
    for at, each in enumerate(levels):
        if each.name is None and (len(levels) > 1 or not counts_rows(each)):
            where = f"level {at} of its index" if len(levels) > 1 else "its index"
            raise ValueError(
                f"a frame must have a name for each level of its index, got {where} without one, "
                f"with values such as {shown(next(iter(each), None))}: name it with "
                "frame.rename_axis(...) to keep it as a column, or leave it out with "
                "frame.reset_index(drop=True)"
            )
    kept = [level for level in levels if level.name is not None]
    names = [*(each.name for each in kept), *frame.columns]
    check_names(names)
    columns = [each.to_series() for each in kept]
    columns += [frame.iloc[:, at] for at in range(frame.shape[1])]
    return dict(zip(names, columns, strict=True))


def counts_rows(index: Any) -> bool:
    """Tell whether an index without a name holds whole numbers, as rows are counted by."""
    return len(index) == 0 or getattr(index.dtype, "kind", "") in "iu"


def polars_columns(frame: Any) -> Mapping[str, Any]:
    """Return the columns of a frame of polars; raises TypeError for one that Arrow lacks."""
    for name, kind in frame.schema.items():
        if NOT_IN_ARROW & set(kinds_within(kind)):
            raise TypeError(
                f"column {name} must have a type that Spark SQL has, got polars' {kind}: cast the "
                "column to such a type first"
            )
    return {column.name: column for column in frame.get_columns()}


def kinds_within(kind: Any) -> Iterable[str]:
    """Yield the names of a type of polars and of the types within it."""
    yield type(kind).__name__ if not isinstance(kind, type) else kind.__name__
    inner = getattr(kind, "inner", None)
    within = [each.dtype for each in getattr(kind, "fields", ())]
    for each in [*within, *([inner] if inner is not None else [])]:
        yield from kinds_within(each)


def check_names(names: Iterable[Any]) -> None:
    """Raise TypeError for a name of a column that is no text, ValueError for one given twice."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"the name of a column must be a text, got {name!r}: rename the column")
        if name.lower() in seen:
            raise ValueError(
                f"rows must have each name once, in any case of letters, got {name} twice: rename "
                "a column, or a level of the index"
            )
        seen.add(name.lower())


def column_array(values: Any, target: Any, name: str) -> Any:
    """Return a column of any library as an array of Arrow.

    Raises TypeError for a single value and for a value of another type, ValueError for a value that
    Arrow does not take.
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(
            f"column {name} must be a list of values, got {shown(values)}. Rows are a list of "
            "dicts, such as [{'id': 1}], or a dict of lists"
        )
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "__arrow_c_array__"):
            return pa.array(values)
        if hasattr(values, "dtype"):
            return typed_array(values, target, name)
    except ARROW_ERRORS as error:
        raise ValueError(
            f"column {name} must have values of one type that Arrow has: {error}. Cast the column "
            "first"
        ) from None
    return array_of(values, target, name)


def typed_array(values: Any, target: Any, name: str) -> Any:
    """Return an array of NumPy or a column of pandas as an array of Arrow."""
    if hasattr(values, "sparse"):
        values = values.sparse.to_dense()
    kind = getattr(values.dtype, "kind", "")
    if kind == "V":
        raise TypeError(
            f"column {name} must have values of one type, got records of NumPy: give dicts"
        )
    if values.dtype == object:
        kept = values.where(values.notna(), None) if hasattr(values, "notna") else values
        return array_of(kept.tolist(), target, name)
    if not hasattr(values, "notna") and kind in "USTcm":
        return array_of(values, target, name)
    if hasattr(values.dtype, "newbyteorder") and not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    unit = UNIT.fullmatch(str(values.dtype))
    if unit is not None and unit[1] in COARSE_UNITS:
        values = values.astype("datetime64[s]")
    return pa.array(values, from_pandas=True)
