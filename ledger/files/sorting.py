"""Rows in the order of their table, as the property `lakeledger.sort` names it.

Rows are ordered as Spark orders them: texts by their bytes, NaN above all numbers, NULL where the
property says. A transform orders them by its results. What a statement writes is ordered in runs
that fit into memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.transformed import ranked
from ledger.properties.column_lists import SortKey

RUN_BYTES: Final = 512 << 20
"""The bytes of rows that are ordered at once."""

WAYS: Final = {False: "ascending", True: "descending"}


def in_order(batches: Iterable[Any], keys: Sequence[SortKey]) -> Iterable[Any]:
    """Return batches or tables of rows in the order of some keys, without keys as they are."""
    return in_runs(batches, keys) if keys else batches


def in_runs(batches: Iterable[Any], keys: Sequence[SortKey]) -> Iterator[Any]:
    """Yield tables of ordered rows."""
    held: list[Any] = []
    size = 0
    for batch in batches:
        rows = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        held.append(rows)
        size += rows.nbytes
        if size >= RUN_BYTES:
            yield ordered(pa.concat_tables(held), keys)
            held, size = [], 0
    if held:
        yield ordered(pa.concat_tables(held), keys)


def ordered(rows: Any, keys: Sequence[SortKey]) -> Any:
    """Return a table of rows in the order of some keys; equal rows keep their order."""
    parts: list[tuple[Any, str]] = []
    for key in keys:
        values = rows.column(key.column)
        if key.transform is not None:
            values = ranked(values, key.transform)
        way = WAYS[key.is_descending]
        parts.append((values.is_null(), WAYS[key.has_nulls_first]))
        if pa.types.is_floating(values.type):
            parts.append((pc.fill_null(pc.is_nan(values), fill_value=False), way))
        parts.append((values, way))
    columns = {f"k{at}": plain(values) for at, (values, _) in enumerate(parts)}
    order = [(f"k{at}", way) for at, (_, way) in enumerate(parts)]
    return rows.take(pc.sort_indices(pa.table(columns), sort_keys=order))


def plain(values: Any) -> Any:
    """Return values of a type that Arrow orders."""
    return values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
