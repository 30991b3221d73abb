"""Blocks: the rows of a table that lie in the log, as sums for a writer and for a flusher.

A table without blocks has no row here, so the rows of this kind are the tables that have some.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ledger.core.events.parts import CommittedPart
from projections.rows.applied import Applied
from projections.rows.keys import BLOCKS, Fields, number_key, reader_of
from projections.store.port import RowChange


class BlockFields(Fields):
    """The live blocks of a table: how many, their bytes and rows, and since when there are some.

    `since` is a time of the ledger in milliseconds. A commit that moves rows out of blocks sets it
    to its own time: the blocks that are left then came while it ran.
    """

    blocks: int = 0
    size: int = 0
    rows: int = 0
    since: int = 0


@dataclass(slots=True)
class ChangedBlocks:
    """The blocks that a commit adds to a table, less those that it removes."""

    blocks: int = 0
    size: int = 0
    rows: int = 0
    is_changed: bool = False
    has_moved: bool = False
    has_gone: bool = False

    def count(self, change: int, size: int, rows: int | None) -> None:
        """Add a block, or with a `change` of -1 take one away."""
        self.is_changed = True
        self.blocks += change
        self.size += change * size
        self.rows += change * (rows or 0)


read_blocks: Final = reader_of(BlockFields)


def block_rows(
    applied: Applied, part: CommittedPart, changed: ChangedBlocks
) -> Iterator[RowChange]:
    """Yield the row of the blocks of a table after a commit."""
    if not changed.is_changed:
        return
    key = number_key(BLOCKS, part.table)
    stored = applied.stored.get(key)
    before = BlockFields() if stored is None else read_blocks(stored)
    left = before.blocks + changed.blocks
    if not left:
        yield key, None
        return
    is_first = changed.has_moved or not before.blocks
    since = part.committed_at if is_first else before.since
    after = BlockFields(left, before.size + changed.size, before.rows + changed.rows, since)
    yield key, after.value()
