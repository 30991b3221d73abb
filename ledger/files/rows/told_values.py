"""Stated values: what a commit says of the new rows of a table, so that fewer conflicts arise.

A condition such as `id = 7` does not meet a new row with the id 8. So a statement states the values
that its new rows have in a few columns: all combinations of them, or bounds if they are too many.
A value whose text could be taken for another one is not stated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.core.limits import ADDED_COLUMNS_MAX
from ledger.core.partitions.names import Values, partition_text
from ledger.core.partitions.values import NULLS
from ledger.core.predicates.types import parse_type
from ledger.core.rows.changes import AddedRows, ToldColumn
from ledger.definitions.partition_texts import PartitionColumn, text_of
from ledger.properties.column_lists import TELLABLE

VALUES_MAX: Final = 1_000
"""More combinations of values are stated as bounds."""

TEXTS_MAX: Final = 32 << 10
"""The characters of all values that are stated of one partition."""

TEXT_MAX: Final = 256


@dataclass(slots=True)
class PartitionValues:
    """The values of new rows of one partition.

    `seen` are combinations, None once they are too many; `bounds` are the least and greatest value
    of each column.
    """

    seen: dict[Values, None] | None = field(default_factory=dict)
    bounds: list[tuple[Any, Any]] = field(default_factory=list)
    chars: int = 0


class ToldValues:
    """What a statement states of its new rows, partition by partition."""

    def __init__(self, schema: TableSchema, names: Sequence[str]) -> None:
        self.columns = told_columns(schema, names)
        self._texts = [PartitionColumn(each.name, each.declared) for each in self.columns]
        self._found: dict[Values, PartitionValues] = {}

    def take(self, partition: Values, rows: Any) -> None:
        """Take new rows of one partition."""
        known = self._found.setdefault(partition, PartitionValues())
        if not self.columns or not len(rows):
            return
        columns = [one_array(rows.column(each.name)) for each in self.columns]
        bounds = [pc.min_max(column) for column in columns]
        pairs = [(each["min"], each["max"]) for each in bounds]
        known.bounds = [*map(wider, known.bounds, pairs)] if known.bounds else pairs
        if known.seen is None:
            return
        names = [f"c{at}" for at in range(len(columns))]
        distinct = pa.table(columns, names=names).group_by(names).aggregate([])
        if len(distinct) + len(known.seen) > VALUES_MAX:
            known.seen = None
            return
        for row in zip(*(distinct.column(name) for name in names), strict=True):
            texts = tuple(map(told_text, row, self._texts))
            if "" in texts:
                known.seen = None
                return
            known.seen[texts] = None
            known.chars += sum(len(text or "") for text in texts)
        if known.chars > TEXTS_MAX:
            known.seen = None

    def rows(self) -> Sequence[AddedRows]:
        """Return what is stated, one entry for each partition with new rows."""
        return [self._added(partition, known) for partition, known in self._found.items()]

    def _added(self, partition: Values, known: PartitionValues) -> AddedRows:
        text = partition_text(partition)
        told = [ToldColumn(each.name, each.declared) for each in self.columns]
        if known.seen:
            return AddedRows(text, told, list(map(partition_text, known.seen)), "", "")
        if not known.bounds:
            return AddedRows(text, (), (), "", "")
        lowest = (told_text(low, each) or None for (low, _), each in self._bounded(known))
        highest = (told_text(high, each) or None for (_, high), each in self._bounded(known))
        bounds = partition_text(tuple(lowest)), partition_text(tuple(highest))
        return AddedRows(text, told, (), *bounds)

    def _bounded(self, known: PartitionValues) -> Any:
        return zip(known.bounds, self._texts, strict=True)


def told_columns(schema: TableSchema, names: Sequence[str]) -> Sequence[TableColumn]:
    """Return the columns of which values can be stated, the first few of those named."""
    found: dict[str, TableColumn] = {}
    for name in names:
        column = schema.find(name)
        if column is None or column.name in (*schema.partition_columns, *schema.skipped):
            continue
        kind = parse_type(column.declared)
        if kind is not None and kind.kind in TELLABLE:
            found[column.name] = column
    return list(found.values())[:ADDED_COLUMNS_MAX]


def told_text(value: Any, column: PartitionColumn) -> str | None:
    """Return the text of a value, None for NULL, "" for a value that is not stated."""
    if not value.is_valid:
        return None
    try:
        text = text_of(value, column)
    except (ValueError, TypeError):
        return ""
    if text is None or text in NULLS or len(text) > TEXT_MAX or "\0" in text:
        return ""
    return text


def one_array(values: Any) -> Any:
    """Return values in one piece."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def wider(known: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the bounds of two sets of values."""
    low = least([known[0], other[0]], pc.min)
    return low, least([known[1], other[1]], pc.max)


def least(values: Sequence[Any], function: Any) -> Any:
    """Return the least or greatest of some scalars; NULL does not count."""
    return function(pa.array([each.as_py() for each in values], values[0].type))
