"""The conflict index: which commits took what, found without looking at the commits one by one.

Every committed table part is entered under each key a later commit may meet it by. Parts leave
oldest first, under the very keys they came by; below `floor` nothing is known.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from ledger.core.partition_keys import PartitionSchema
from ledger.core.table_winners import TableWinners
from ledger.core.winning_parts import WinningPart

# So many entries leave with one event, more if as many came; most commits bring a few.
LEAVING_MAX: Final = 2_000


@dataclass(slots=True)
class ConflictIndex:
    """The winners of a domain; commits planned below `floor` cannot be judged any more.

    `sizes` are the numbers of entries of the `parts`.
    """

    tables: dict[int, TableWinners] = field(default_factory=dict)
    parts: deque[WinningPart] = field(default_factory=deque)
    sizes: deque[int] = field(default_factory=deque)
    entries: int = 0
    floor: int = 0

    def record(self, part: WinningPart, schema: PartitionSchema) -> None:
        """Enter a committed part; `schema` are the partition columns before it."""
        winners = self.tables.get(part.table)
        if winners is None:
            winners = self.tables[part.table] = TableWinners([(0, schema)])
        size = winners.enter(part)
        self.entries += size
        self.parts.append(part)
        self.sizes.append(size)

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
        leaving = self.entries - LEAVING_MAX
        while self.parts:
            is_met_by_none = self.parts[0].position <= oldest_writer
            may_leave = is_met_by_none and self.entries - self.sizes[0] >= entries_min
            if self.entries <= entries_max and not (may_leave and self.entries > leaving):
                return
            self._drop_oldest()

    def forget_all(self, floor: int) -> None:
        """Let all winners go: what was planned before a position cannot be judged any more."""
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
