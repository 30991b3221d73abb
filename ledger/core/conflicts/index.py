"""The conflict index: every committed table part, under each key that a later commit can look up.

A key leads to positions in ascending order, so a bisection finds the first winner after a read, at
a cost that hardly grows with the number of winners. Parts leave oldest first, under the keys they
were entered by. The index knows no commit below `floor`.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from ledger.core.conflicts.positions import Positions, least
from ledger.core.conflicts.row_winners import RowWinners
from ledger.core.conflicts.winners import (
    ANY_FILE,
    WinningPart,
    added_partitions,
    changed_units,
    keys_of,
    valued,
)
from ledger.core.limits import COLUMN_NAMES_MAX, ENTRIES_LEAVING_MAX
from ledger.core.partitions.keys import Key, NoValue, PartitionSchema


@dataclass(slots=True)
class TableWinners:
    """The winning parts of one table by key.

    `shapes` are the partition columns, each with the position from which they are in force.
    `recent` are the partitions that got files, the latest addition last. `by_value` finds them by
    one typed value, if they got files under the columns in force now. `column_names` counts units
    whose columns are known only from their text, by the names of these columns. `rows` has what the
    parts changed row by row.
    """

    shapes: list[tuple[int, PartitionSchema]]
    marks: dict[Hashable, Positions] = field(default_factory=dict)
    parts: dict[int, WinningPart] = field(default_factory=dict)
    recent: OrderedDict[str, int] = field(default_factory=OrderedDict)
    by_value: dict[tuple[int, Key], dict[str, None]] = field(default_factory=dict)
    column_names: Counter[object] = field(default_factory=Counter)
    rows: RowWinners = field(default_factory=RowWinners)

    def first(self, key: Hashable, read_at: int) -> int:
        """Return the first position after `read_at` entered under a key, or 0."""
        found = self.marks.get(key)
        return found.after(read_at) if found is not None else 0

    def first_removal(self, file: bytes, read_at: int) -> int:
        """Return the first position after `read_at` at which a file was removed, or 0."""
        return least(self.first(file, read_at), self.first(ANY_FILE, read_at))

    def schema_at(self, position: int) -> PartitionSchema:
        """Return the partition columns as they were at a position."""
        for since, schema in reversed(self.shapes):
            if since <= position:
                return schema
        return self.shapes[0][1]

    def schema_before(self, position: int) -> PartitionSchema:
        """Return the partition columns just before a commit, which may have changed them."""
        return self.schema_at(position - 1)

    def newest_partitions(self, read_at: int) -> Iterator[str]:
        """Return the partitions that got files after `read_at`, latest first."""
        for text, position in reversed(self.recent.items()):
            if position <= read_at:
                return
            yield text

    @property
    def names_many_columns(self) -> bool:
        """Whether units name too many sets of columns to look up each."""
        return len(self.column_names) > COLUMN_NAMES_MAX

    def are_valued_at(self, position: int) -> bool:
        """Tell whether the values in `by_value` have the column types of a position."""
        return self.shapes[-1][0] <= position

    def partitions_with(self, equals: Mapping[int, frozenset[Key]]) -> Iterator[str]:
        """Return the partitions with one of the given values in a column.

        They are among those that got files under the present columns; see `are_valued_at`. If
        several columns are given, the one with the fewest partitions is used.
        """
        found = [self.with_values(column, values) for column, values in equals.items()]
        sizes = [sum(len(texts) for texts in each) for each in found]
        return chain.from_iterable(found[sizes.index(min(sizes))])

    def with_values(self, column: int, values: frozenset[Key]) -> list[dict[str, None]]:
        """Return the partitions with these values in a column, or with a text that is no value."""
        return [self.by_value.get((column, each), {}) for each in values | {NoValue.UNCASTABLE}]

    def enter(self, part: WinningPart) -> int:
        """Enter a part and return the number of its keys."""
        schema = self.schema_before(part.position)
        texts = added_partitions(part, schema)
        keys = dict.fromkeys(keys_of(part, schema, texts))
        for key in keys:
            found = self.marks.get(key)
            if found is None:
                found = self.marks[key] = Positions()
            found.add(part.position)
        for text in texts:
            if not self.is_valued(self.recent.get(text, 0)) and self.is_valued(part.position):
                self.value(text)
            self.recent[text] = part.position
            self.recent.move_to_end(text)
        self.parts[part.position] = part
        self.column_names.update(names_in(part, schema))
        return len(keys) + self.enter_rows(part)

    def enter_rows(self, part: WinningPart) -> int:
        """Enter what a part changed row by row, and return the number of entries."""
        rows = part.footprint.rows if part.footprint is not None else None
        if rows is None:
            return 0
        self.rows.enter(part.position, rows)
        return len(rows.marks) + len(rows.moved) + sum(len(each.values) for each in rows.added)

    def leave(self, part: WinningPart) -> None:
        """Remove a part, which must be the oldest."""
        schema = self.schema_before(part.position)
        texts = added_partitions(part, schema)
        keys = dict.fromkeys(keys_of(part, schema, texts))
        for key in keys:
            if self.marks[key].drop_through(part.position):
                del self.marks[key]
        for text in texts:
            if self.recent.get(text) == part.position:
                del self.recent[text]
                if self.is_valued(part.position):
                    self.forget(text)
        del self.parts[part.position]
        if part.footprint is not None and part.footprint.rows is not None:
            self.rows.leave(part.position, part.footprint.rows)
        for names in names_in(part, schema):
            self.column_names[names] -= 1
            if not self.column_names[names]:
                del self.column_names[names]
        while len(self.shapes) > 1 and self.shapes[1][0] <= part.position:
            del self.shapes[0]

    def reshape(self, position: int, schema: PartitionSchema) -> None:
        """Note that the partition columns change at a position.

        Only an attempt that read at this position or later looks up values of the new columns. So
        partitions that got their files before are no longer needed by value.
        """
        self.shapes.append((position, schema))
        self.by_value.clear()

    def is_valued(self, position: int) -> bool:
        """Tell whether files added at a position were added under the present columns."""
        return position > self.shapes[-1][0]

    def value(self, text: str) -> None:
        """Enter a partition by its values, typed by the present columns."""
        for value in valued(text, self.shapes[-1][1]):
            self.by_value.setdefault(value, {})[text] = None

    def forget(self, text: str) -> None:
        """Remove a partition from the lists of its values."""
        for value in valued(text, self.shapes[-1][1]):
            texts = self.by_value.get(value, {})
            texts.pop(text, None)
            if not texts:
                self.by_value.pop(value, None)


def names_in(part: WinningPart, schema: PartitionSchema) -> Iterator[object]:
    """Return the column names of each changed unit, if the table does not know its columns."""
    if not schema:
        yield from (unit[1] for unit in changed_units(part, schema) if unit[0] == "named")


@dataclass(slots=True)
class ConflictIndex:
    """The winners of a domain; a commit planned below `floor` can no longer be judged.

    `sizes` holds the number of keys of each of the `parts`, `entries` their sum.
    """

    tables: dict[int, TableWinners] = field(default_factory=dict)
    parts: deque[WinningPart] = field(default_factory=deque)
    sizes: deque[int] = field(default_factory=deque)
    entries: int = 0
    floor: int = 0

    def record(self, part: WinningPart, schema: PartitionSchema) -> None:
        """Enter a committed part; `schema` are the partition columns before its commit."""
        winners = self.tables.get(part.table)
        if winners is None:
            winners = self.tables[part.table] = TableWinners([(0, schema)])
        size = winners.enter(part)
        self.entries += size
        self.parts.append(part)
        self.sizes.append(size)

    def reshape(self, table: int, position: int, schema: PartitionSchema) -> None:
        """Note that the partition columns of a table change at a position."""
        winners = self.tables.get(table)
        if winners is not None and winners.shapes[-1][1] != schema:
            winners.reshape(position, schema)

    def prune(self, oldest_writer: int, entries_min: int, entries_max: int) -> None:
        """Drop winners that no open writing txn can meet.

        `oldest_writer` is the position at which the oldest open writing txn opened. At least
        `entries_min` entries stay for commits made from older reads, and at most `entries_max` in
        all. A commit planned below `floor` is refused, never guessed. The entries that an old
        writer held back leave in small steps, so that no single event pays for all of them.
        """
        leaving = self.entries - ENTRIES_LEAVING_MAX
        while self.parts:
            is_unreachable = self.parts[0].position <= oldest_writer
            may_leave = is_unreachable and self.entries - self.sizes[0] >= entries_min
            if self.entries <= entries_max and not (may_leave and self.entries > leaving):
                return
            self._drop_oldest()

    def forget_all(self, floor: int) -> None:
        """Drop all winners; commits planned below `floor` are refused from now on."""
        self.tables.clear()
        self.parts.clear()
        self.sizes.clear()
        self.entries = 0
        self.floor = floor

    def _drop_oldest(self) -> None:
        part, size = self.parts.popleft(), self.sizes.popleft()
        winners = self.tables[part.table]
        winners.leave(part)
        self.entries -= size
        if not winners.parts:
            del self.tables[part.table]
        self.floor = max(self.floor, part.position)
