"""The conflict index: which commits took what, found without looking at the commits one by one.

Every committed table part is entered under each key a later commit may meet it by: the partitions
it added files to, the paths it removed, the units it changed, its metadata, protocol, domains and
application ids. Behind a key stand the positions in ascending order, so the first winner after a
read is found by bisection however many there were (the shape that R11 of the measurements asks
for). Parts leave oldest first, under the very keys they came by; below `floor` nothing is known.
"""

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from ledger.core.commands import CoarseWrite, Footprint
from ledger.core.footprints import hashes, is_backfill
from ledger.core.metadata_diff import MetadataKind
from ledger.core.partition_keys import Key, Mark, PartitionSchema
from ledger.core.partitions import (
    READ_KEPT,
    Values,
    hive_values,
    partition_text,
    partition_values,
    typed,
)

SLACK: Final = 32
# So many entries leave with one event, more if as many came; most commits bring a few.
LEAVING_MAX: Final = 2_000
Unit = tuple[str, Hashable]
WHOLE_TABLE: Final[Unit] = ("table", "")
UNPARTITIONED: Final[Unit] = ("unpartitioned", "")
# Stands for every partition where a coarse write does not say which one it changed.
ANYWHERE: Final = "*"


class WinningPart(NamedTuple):
    """One table of a commit, as later commits may meet it; its footprint has no files.

    `metadata` is the kind of its metadata change or "", `protocol` "adds" or "breaks" for a
    protocol action, `rearranges` says that it changed no data.
    """

    position: int
    table: int
    txn: int
    session: int
    at: int
    operation: str
    blind: bool
    rearranges: bool
    metadata: MetadataKind | str
    replaces: bool
    protocol: str
    coarse: Sequence[CoarseWrite]
    footprint: Footprint | None


class Positions:
    """Ascending positions; the oldest go first."""

    __slots__ = ("_items", "_start")

    def __init__(self) -> None:
        self._items: list[int] = []
        self._start = 0

    def __eq__(self, other: object) -> bool:
        """Equal are those that hold the same positions."""
        return isinstance(other, Positions) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[int]:
        """Return the positions, ascending."""
        return iter(self._items[self._start :])

    def add(self, position: int) -> None:
        """Add the newest position; the same one twice counts once."""
        if not self._items or self._items[-1] != position:
            self._items.append(position)

    def after(self, position: int) -> int:
        """Return the least one above `position`, 0 if there is none."""
        items = self._items
        if items[-1] <= position:
            return 0
        return items[bisect_right(items, position, self._start)]

    def drop_through(self, position: int) -> bool:
        """Let those up to `position` go; tell whether none is left."""
        items = self._items
        self._start = bisect_right(items, position, self._start)
        if self._start == len(items):
            return True
        if self._start > SLACK and self._start * 2 > len(items):
            del items[: self._start]
            self._start = 0
        return False


@dataclass(slots=True)
class TableWinners:
    """The winning parts of one table by what they can be met by.

    `shapes` are the partition columns in force from a position on. `recent` are the partitions
    files were added to, the latest addition last; `by_value` finds them by one typed value.
    """

    shapes: list[tuple[int, PartitionSchema]]
    marks: dict[Hashable, Positions] = field(default_factory=dict)
    parts: dict[int, WinningPart] = field(default_factory=dict)
    recent: OrderedDict[str, int] = field(default_factory=OrderedDict)
    by_value: dict[tuple[int, Key], dict[str, None]] = field(default_factory=dict)

    def first(self, key: Hashable, read_at: int) -> int:
        """Return the first position after `read_at` entered under a key, or 0."""
        found = self.marks.get(key)
        return found.after(read_at) if found is not None else 0

    def schema_at(self, position: int) -> PartitionSchema:
        """Return the partition columns as they were at a position."""
        for since, schema in reversed(self.shapes):
            if since <= position:
                return schema
        return self.shapes[0][1]

    def schema_before(self, position: int) -> PartitionSchema:
        """Return the partition columns that a commit found, which may have changed them."""
        return self.schema_at(position - 1)

    def newest_partitions(self, read_at: int) -> Iterator[str]:
        """Return the partitions that got files after `read_at`, latest first."""
        for text, position in reversed(self.recent.items()):
            if position <= read_at:
                return
            yield text

    def are_valued_at(self, position: int) -> bool:
        """Tell whether values are typed as the columns were at a position."""
        return self.shapes[-1][0] <= position

    def partitions_with(self, equals: Mapping[int, frozenset[Key]]) -> Iterator[str]:
        """Return the partitions that have one of the values of a column, typed as they are now.

        Of several columns the one is asked that leaves the fewest partitions.
        """
        found = [self.with_values(column, values) for column, values in equals.items()]
        sizes = [sum(len(texts) for texts in each) for each in found]
        return chain.from_iterable(found[sizes.index(min(sizes))])

    def with_values(self, column: int, values: frozenset[Key]) -> list[dict[str, None]]:
        """Return the partitions that have these values in a column, or none of its type there."""
        return [self.by_value.get((column, each), {}) for each in values | {Mark.UNCASTABLE}]

    def enter(self, part: WinningPart) -> int:
        """Enter a part; return under how many keys."""
        schema = self.schema_before(part.position)
        texts = added_partitions(part, schema)
        keys = dict.fromkeys(keys_of(part, schema, texts))
        for key in keys:
            found = self.marks.get(key)
            if found is None:
                found = self.marks[key] = Positions()
            found.add(part.position)
        for text in texts:
            if text not in self.recent:
                self.value(text)
            self.recent[text] = part.position
            self.recent.move_to_end(text)
        self.parts[part.position] = part
        return len(keys)

    def leave(self, part: WinningPart) -> int:
        """Take the oldest part out; return under how many keys it was."""
        schema = self.schema_before(part.position)
        texts = added_partitions(part, schema)
        keys = dict.fromkeys(keys_of(part, schema, texts))
        for key in keys:
            if self.marks[key].drop_through(part.position):
                del self.marks[key]
        for text in texts:
            if self.recent.get(text) == part.position:
                del self.recent[text]
                self.forget(text)
        del self.parts[part.position]
        while len(self.shapes) > 1 and self.shapes[1][0] <= part.position:
            del self.shapes[0]
        return len(keys)

    def reshape(self, position: int, schema: PartitionSchema) -> None:
        """Note that the partition columns are others from a position on."""
        self.shapes.append((position, schema))
        self.by_value.clear()
        for text in self.recent:
            self.value(text)

    def value(self, text: str) -> None:
        """Let a partition be found by its values, typed as the columns are now."""
        for value in valued(text, self.shapes[-1][1]):
            self.by_value.setdefault(value, {})[text] = None

    def forget(self, text: str) -> None:
        """Take a partition from those that have its values."""
        for value in valued(text, self.shapes[-1][1]):
            texts = self.by_value.get(value, {})
            texts.pop(text, None)
            if not texts:
                self.by_value.pop(value, None)


@dataclass(slots=True)
class ConflictIndex:
    """The winners of a domain; commits planned below `floor` cannot be judged any more."""

    tables: dict[int, TableWinners] = field(default_factory=dict)
    parts: deque[WinningPart] = field(default_factory=deque)
    entries: int = 0
    floor: int = 0

    def record(self, part: WinningPart, schema: PartitionSchema) -> None:
        """Enter a committed part; `schema` are the partition columns before it."""
        winners = self.tables.get(part.table)
        if winners is None:
            winners = self.tables[part.table] = TableWinners([(0, schema)])
        self.entries += winners.enter(part)
        self.parts.append(part)

    def reshape(self, table: int, position: int, schema: PartitionSchema) -> None:
        """Note that a table has other partition columns from a position on."""
        winners = self.tables.get(table)
        if winners is not None and winners.shapes[-1][1] != schema:
            winners.reshape(position, schema)

    def prune(self, oldest_writer: int, entries_min: int, entries_max: int) -> None:
        """Drop winners that no open writing txn can meet.

        `oldest_writer` is the position at which the oldest open writing txn opened. At least
        `entries_min` entries stay for commits made from older reads, at most `entries_max`
        altogether; a commit from below `floor` is refused, never guessed. What one old writer held
        goes little by little, so that no event costs what gathered before it.
        """
        kept = max(entries_min, self.entries - LEAVING_MAX)
        while self.entries > min(kept, entries_max):
            part = self.parts[0]
            if part.position > oldest_writer and self.entries <= entries_max:
                return
            self.parts.popleft()
            winners = self.tables[part.table]
            self.entries -= winners.leave(part)
            if not winners.parts:
                del self.tables[part.table]
            self.floor = max(self.floor, part.position)


def keys_of(part: WinningPart, schema: PartitionSchema, texts: Sequence[str]) -> Iterator[Hashable]:
    """Return every key a part stands under, some twice; `texts` are the partitions it added to."""
    yield "any"
    if part.metadata:
        yield "metadata"
        yield "metadata", part.metadata
    if part.replaces:
        yield "replaces"
    if part.protocol:
        yield "protocol"
        yield "protocol", part.protocol
    if part.footprint is not None:
        yield from footprint_keys(part.footprint)
        yield from (("changed", unit) for unit in removed_units(part.footprint, schema))
    for kind in ("added",) if part.blind else ("added", "seen"):
        # Blind appends are not seen by all.
        if texts:
            yield kind
        for text in texts:
            yield kind, text
    for write in part.coarse:
        if write.operation != "insert":
            yield "coarse"
            yield "removed"
            yield "coarse", unit_of(write, schema)


def footprint_keys(footprint: Footprint) -> Iterator[Hashable]:
    """Return the keys of what a footprint removed and recorded."""
    if footprint.removes:
        yield "removed"
    yield from hashes(footprint.removes)
    yield from (("domain", each.name) for each in footprint.domains)
    yield from (("app", each.app) for each in footprint.apps)


def added_partitions(part: WinningPart, schema: PartitionSchema) -> Sequence[str]:
    """Return the partitions that got new rows; a backfill adds the files that were there."""
    texts = [coarse_partition(write, schema) for write in part.coarse]
    if part.footprint is not None and not is_backfill(part.footprint):
        texts.extend(found_partition(text, schema) for text in part.footprint.adds)
    return tuple(dict.fromkeys(texts))


@lru_cache(READ_KEPT)
def found_partition(text: str, schema: PartitionSchema) -> str:
    """Return a partition as it can be found, ANYWHERE if it has not a value for each column."""
    values = partition_values(text)
    return text if values is not None and len(values) == len(schema) else ANYWHERE


def main_operation(writes: Sequence[CoarseWrite]) -> str:
    """Return what coarse writes did above all: the first that is no insert, "" for none."""
    operations: list[str] = [write.operation for write in writes]
    return next((each for each in operations if each != "insert"), (operations or [""])[0])


@lru_cache(READ_KEPT)
def coarse_partition(write: CoarseWrite, schema: PartitionSchema) -> str:
    """Return the partition of a coarse write, ANYWHERE if it is not one the table can have."""
    if write.scope == "unpartitioned" and not schema:
        return partition_text(())
    columns = [name for name, _ in schema]
    values = hive_values(write.partition, columns) if write.scope == "partition" else None
    return partition_text(values) if values is not None else ANYWHERE


@lru_cache(READ_KEPT)
def valued(text: str, schema: PartitionSchema) -> tuple[tuple[int, Key], ...]:
    """Return each typed value of a partition with the number of its column."""
    return tuple(enumerate(typed(partition_values(text) or (), schema)))


def unit_of(write: CoarseWrite, schema: PartitionSchema) -> Unit:
    """Return the unit of a coarse write; as Hive's NULL, the unpartitioned one meets only itself.

    A partition that does not spell the table's columns is known by its text alone.
    """
    if write.scope != "partition":
        return WHOLE_TABLE if write.scope == "table" else UNPARTITIONED
    values = hive_values(write.partition, [name for name, _ in schema])
    return partition_unit(values, schema) if values is not None else ("text", write.partition)


def partition_unit(values: Values, schema: PartitionSchema) -> Unit:
    """Return the unit that a partition is."""
    return ("partition", typed(values, schema)) if values else UNPARTITIONED


def removed_units(footprint: Footprint, schema: PartitionSchema) -> Iterator[Unit]:
    """Return the units a footprint removed files from; unsaid means anywhere.

    So does a partition that has not a value for each column: nobody knows which it is.
    """
    if footprint.removes and not footprint.removes_in:
        yield WHOLE_TABLE
    for text in footprint.removes_in:
        values = partition_values(text)
        is_known = values is not None and len(values) == len(schema)
        yield partition_unit(values, schema) if values is not None and is_known else WHOLE_TABLE
