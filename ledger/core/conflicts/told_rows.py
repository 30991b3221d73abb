"""Stated rows: whether the new rows of winners may fulfil the condition of a scan.

A winner may state values of its new rows. They can only ever take away a conflict that cannot be
real: a row without stated values, a value of another type and a condition that cannot be judged
count as met.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Final

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.winners import ANYWHERE, WinningPart, added_partitions, found_partition
from ledger.core.limits import COLUMN_NAMES_MAX
from ledger.core.partitions.keys import Key, NoValue, PartitionSchema, key_of
from ledger.core.partitions.names import Values, partition_values
from ledger.core.predicates.predicates import CompiledPredicate, Predicates
from ledger.core.rows.changes import AddedRows, ToldColumn

# A conflict names so many characters of a value.
VALUE_CHARS: Final = 80


@dataclass(slots=True)
class ToldRows:
    """The new rows of the winners after a read, for the scans of one attempt.

    `kind` is the key of the index for additions that count at the level of the attempt. `left` is
    how many more steps the scans may take.
    """

    winners: TableWinners
    predicates: Predicates
    schema: PartitionSchema
    columns: Sequence[ToldColumn]
    read_at: int
    kind: str
    left: int

    def first(self, text: str) -> tuple[int, str]:
        """Return the first winner with a new row that a scan may have read, and what that is.

        (0, "") without one. A scan that would take too many steps counts as met.
        """
        for position in self._candidates(text):
            part = self.winners.parts[position]
            for unit in self._met(part, text):
                return position, unit
        return 0, ""

    def _candidates(self, text: str) -> Sequence[int]:
        """Return a superset of the winners with rows that a scan can have read, in their order.

        If the scan asks for single values of a column, and all winners state that column, the index
        has the winners by value.
        """
        winners, kind = self.winners, self.kind
        every = winners.marks.get(kind)
        if every is None:
            return ()
        count = every.count_after(self.read_at)
        scan = self._scan(text, self.columns)
        for number, keys in scan.equals.items():
            if number < len(self.schema):
                continue
            column = self.columns[number - len(self.schema)]
            told = winners.marks.get((kind, "told", column))
            if told is not None and told.count_after(self.read_at) == count:
                return self._with_values(column, keys)
        return every.all_after(self.read_at)

    def _with_values(self, column: ToldColumn, keys: frozenset[Key]) -> list[int]:
        found: set[int] = set()
        for key in keys | {NoValue.UNCASTABLE}:
            positions = self.winners.marks.get((self.kind, "value", column, key))
            if positions is not None:
                found.update(positions.all_after(self.read_at))
        return sorted(found)

    def _met(self, part: WinningPart, text: str) -> Iterator[str]:
        """Yield where a winner may have added a row that a scan read, or the row that it stated."""
        rows = part.footprint.rows if part.footprint is not None else None
        if rows is None or part.coarse:
            schema = self.winners.schema_before(part.position)
            for partition in added_partitions(part, schema):
                if self._reads(self._scan(text, ()), partition, ()):
                    yield self._unit(partition)
            return
        for added in rows.added:
            yield from self._met_added(added, text)

    def _met_added(self, added: AddedRows, text: str) -> Iterator[str]:
        columns = [column for column in added.columns if column in self.columns]
        scan = self._scan(text, columns)
        if added.values and columns:
            places = [added.columns.index(column) for column in columns]
            for each in added.values:
                values = told(each, places)
                if self._reads(scan, added.partition, values):
                    yield row_unit(columns, values)
            return
        if added.lowest and not self._may_be_inside(scan, added, columns):
            return
        if self._reads(self._scan(text, ()), added.partition, ()):
            yield self._unit(added.partition)

    def _unit(self, partition: str) -> str:
        return f"partition {partition}" if self.schema else "table"

    def _may_be_inside(
        self, scan: CompiledPredicate, added: AddedRows, columns: Sequence[ToldColumn]
    ) -> bool:
        """Return whether the single values that a scan asks for may lie within the bounds."""
        lowest, highest = partition_values(added.lowest), partition_values(added.highest)
        for number, keys in scan.equals.items():
            if number < len(self.schema):
                continue
            column = columns[number - len(self.schema)]
            at = added.columns.index(column)
            low = key_of(lowest[at], column.type) if lowest else NoValue.NULL
            high = key_of(highest[at], column.type) if highest else NoValue.NULL
            if not any(is_inside(key, low, high) for key in keys):
                return False
        return True

    def _reads(self, scan: CompiledPredicate, partition: str, more: Values) -> bool:
        self.left -= scan.cost(partition)
        if self.left < 0 or partition == ANYWHERE:
            return True
        values = partition_values(found_partition(partition, self.schema))
        return values is None or scan.matches((*values, *more))

    def _scan(self, text: str, columns: Sequence[ToldColumn]) -> CompiledPredicate:
        schema = (*self.schema, *((column.name, column.type) for column in columns))
        return self.predicates.of(text, schema, derive=True)


def row_unit(columns: Sequence[ToldColumn], values: Values) -> str:
    """Return the name of a new row by its stated values."""
    pairs = zip(columns, values, strict=True)
    texts = (
        f"{column.name} {'is NULL' if value is None else f'= {value[:VALUE_CHARS]}'}"
        for column, value in pairs
    )
    return f"row {', '.join(texts)}"


def told(text: str, places: Sequence[int]) -> Values:
    """Return the stated values of some columns."""
    values = partition_values(text) or ()
    return tuple(values[at] for at in places)


def is_inside(key: Key, low: Key, high: Key) -> bool:
    """Return whether a value may lie between two bounds; an unknown bound excludes nothing."""
    every = (key, low, high)
    if any(isinstance(each, NoValue) or is_nan(each) for each in every):
        return True
    try:
        return bool(low <= key <= high)  # type: ignore[operator]
    except TypeError:
        return True


def is_nan(key: Key) -> bool:
    """Return whether a key is no number, which no comparison places."""
    return isinstance(key, float) and isnan(key)


def told_columns(
    winners: TableWinners, definition: TableDefinition | None, schema: PartitionSchema
) -> Sequence[ToldColumn]:
    """Return the columns that winners state and that a table has now, none if they are too many."""
    known = winners.rows.columns
    if not known or definition is None or len(known) > COLUMN_NAMES_MAX:
        return ()
    divided = {name.lower() for name, _ in schema}
    types: Mapping[str, str] = {column.name: column.type for column in definition.columns}
    found = [each for each in known if types.get(each.name) == each.type]
    return sorted(each for each in found if each.name.lower() not in divided)
