"""The cleanup watermark: below which txn id mappings of write ids may go (HIVE-18747); and marks.

`Z` is the least open id any open txn saw when it opened, `A` the least aborted id whose data may
still be there, and `W = min(Z, A, next txn id)`. Every live snapshot sees all txns below `W` as
committed, so a mapping row below it says nothing that its absence does not say too.

Beyond Hive a table has a mark of its own, for its files. Only snapshots of open txns that were
taken while the table was there hold it, and no aborted txn does: nobody reads what that left.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ledger.core.state.txns import Txns


class Watermark(NamedTuple):
    """The watermark and its three bounds; a bound without a holder equals `next_txn`."""

    watermark: int
    open_bound: int
    aborted_bound: int
    next_txn: int


def bounds(txns: Txns) -> Watermark:
    """Return the watermark of the state and what bounds it, in O(1)."""
    oldest = txns.oldest_open()
    open_bound = oldest.min_open if oldest is not None else txns.next_txn
    aborted_bound = txns.pinning.minimum(txns.next_txn)
    low = min(open_bound, aborted_bound, txns.next_txn)
    return Watermark(low, open_bound, aborted_bound, txns.next_txn)


class Snapshot(NamedTuple):
    """What an open txn may see: everything committed up to `position`, where it opened."""

    position: int
    txn: int


class Lifetime(NamedTuple):
    """From which position on a table exists for all (0 = not yet), and from which no more (0)."""

    created: int
    dropped: int = 0

    def covers(self, position: int) -> bool:
        """Tell whether a snapshot of this position shows the table."""
        return 0 < self.created <= position and not self.is_over(position)

    def is_over(self, position: int) -> bool:
        """Tell whether the table is gone at a position."""
        return 0 < self.dropped <= position


class TableMark(NamedTuple):
    """How far the files of a table may be cleaned; neither number ever falls.

    A file removed at or before `position` is in no snapshot that is open or will be. All of these
    see every write id below `write_id` as ended: what a compaction put in the place of such ids can
    be read by all, what aborted ones left by nobody. `txn` holds the mark there, 0 = nobody does.
    """

    position: int
    write_id: int
    txn: int


def table_mark(
    life: Lifetime, snapshots: Iterable[Snapshot], now: int, first_open: Callable[[int], int]
) -> TableMark:
    """Return the mark of a table as of position `now`.

    `snapshots` are those of the open txns in the order in which they opened; only the first that
    shows the table is looked at, so any before its creation may be left out. `first_open` returns
    the least write id of the table that had not ended at a position (`Txns.first_open`): it never
    falls, so its value at the oldest snapshot is what that snapshot and all later ones allow.
    """
    held = next((each for each in snapshots if life.covers(each.position)), Snapshot(now, 0))
    return TableMark(held.position, first_open(held.position), held.txn)


def advance(txns: Txns) -> None:
    """Recompute the stored watermark after an event that may have moved it."""
    low = bounds(txns).watermark
    assert low >= txns.watermark, f"the watermark fell from {txns.watermark} to {low}"
    txns.watermark = low
