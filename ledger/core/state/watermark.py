"""The cleanup watermark of mappings (HIVE-18747), and the cleaning marks of tables.

`Z` is the least open id that any open txn saw when it opened, `A` the least aborted id that may
still have data, and `W = min(Z, A, next txn id)`. Every live snapshot sees all txns below `W` as
committed, so mapping rows below `W` can be removed without effect.

Unlike in Hive, a table also has a mark for its files. Snapshots of open txns that were taken while
the table existed hold it back. Aborted txns do not, because no reader sees their data.
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
    """Return the watermark of the state and its bounds, in O(1)."""
    oldest = txns.oldest_open()
    open_bound = oldest.min_open if oldest is not None else txns.next_txn
    aborted_bound = txns.pinning.minimum(txns.next_txn)
    low = min(open_bound, aborted_bound, txns.next_txn)
    return Watermark(low, open_bound, aborted_bound, txns.next_txn)


class Snapshot(NamedTuple):
    """The snapshot of an open txn: everything committed up to `position`, where it opened."""

    position: int
    txn: int


class Lifetime(NamedTuple):
    """The positions at which a table was committed and dropped, 0 = not yet."""

    created: int
    dropped: int = 0

    def covers(self, position: int) -> bool:
        """Tell whether the table is in a snapshot of this position."""
        return 0 < self.created <= position and not self.is_over(position)

    def is_over(self, position: int) -> bool:
        """Tell whether the table is gone at a position."""
        return 0 < self.dropped <= position


class TableMark(NamedTuple):
    """How far the files of a table may be cleaned; neither number ever falls.

    A file removed at or before `position` is in no open or future snapshot. All these snapshots see
    every write id below `write_id` as ended. So all can read a compaction of such ids, and no
    reader needs the data of aborted ones. `txn` is the txn that holds the mark back, 0 = no txn.
    """

    position: int
    write_id: int
    txn: int


def table_mark(
    life: Lifetime, snapshots: Iterable[Snapshot], now: int, first_open: Callable[[int], int]
) -> TableMark:
    """Return the mark of a table as of position `now`.

    `snapshots` are those of the open txns in the order in which they opened. Only the first one
    with the table counts, so earlier ones may be left out. `first_open` returns the least write id
    of the table that had not ended at a position (`Txns.first_open`). It never falls, so its value
    at the oldest snapshot holds for all later ones too.
    """
    held = next(
        (snapshot for snapshot in snapshots if life.covers(snapshot.position)), Snapshot(now, 0)
    )
    return TableMark(held.position, first_open(held.position), held.txn)


def advance(txns: Txns) -> None:
    """Recompute the stored watermark after an event that may have moved it."""
    low = bounds(txns).watermark
    if low < txns.watermark:
        raise AssertionError(f"the watermark fell from {txns.watermark} to {low}")
    txns.watermark = low
