"""First committer wins on coarse writes: Hive's write-write check (rule c1).

A coarse update or delete of a unit conflicts with a committed coarse update or delete of the same
unit whose commit lies after the position the loser read at. Inserts conflict with nothing. A write
of the whole table meets every unit of it; a partition and the unpartitioned unit never meet, as
Hive's NULL meets only NULL. Only the latest winner of a unit can decide, so that one is kept.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.core.commands import CoarseWrite

ANY_UNIT = "any"
WHOLE_TABLE = "table"

Unit = tuple[int, str]


class Winner(NamedTuple):
    """A committed coarse update or delete: its position, txn, session and operation."""

    position: int
    txn: int
    session: int
    operation: str


def unit_name(write: CoarseWrite) -> str:
    """Return the unit of a coarse write as one word that no other unit of the table shares."""
    if write.scope == "partition":
        return f"partition {write.partition}"
    return WHOLE_TABLE if write.scope == "table" else "unpartitioned"


@dataclass(slots=True)
class CoarseWinners:
    """The latest winner of each unit, oldest first; below `floor` nothing can be judged."""

    latest: OrderedDict[Unit, Winner] = field(default_factory=OrderedDict)
    floor: int = 0

    def record(self, table: int, write: CoarseWrite, winner: Winner) -> None:
        """Enter a committed write; an insert leaves no trace."""
        if write.operation == "insert":
            return
        for unit in (unit_name(write), ANY_UNIT):
            self.latest[table, unit] = winner
            self.latest.move_to_end((table, unit))

    def rival(self, table: int, write: CoarseWrite, read_at: int) -> Winner | None:
        """Return the latest commit after `read_at` that `write` may not follow, or None."""
        if write.operation == "insert":
            return None
        unit = unit_name(write)
        met = (ANY_UNIT,) if unit == WHOLE_TABLE else (unit, WHOLE_TABLE)
        rivals = (self.latest.get((table, name)) for name in met)
        return max((w for w in rivals if w and w.position > read_at), default=None)

    def prune(self, oldest_writer: int, entries_min: int, entries_max: int) -> None:
        """Drop winners that no open writing txn can meet.

        `oldest_writer` is the position at which the oldest open writing txn opened. At least
        `entries_min` entries stay for one-shot commits made from older reads, at most
        `entries_max` altogether; a commit from below `floor` is refused, never guessed.
        """
        while len(self.latest) > entries_min:
            unit, winner = next(iter(self.latest.items()))
            if winner.position > oldest_writer and len(self.latest) <= entries_max:
                return
            del self.latest[unit]
            self.floor = max(self.floor, winner.position)
