"""The cleanup watermark: below which txn id mappings of write ids may go (HIVE-18747).

`Z` is the least open id any open txn saw when it opened, `A` the least aborted id whose data may
still be there, and `W = min(Z, A, next txn id)`. Every live snapshot sees all txns below `W` as
committed, so a mapping row below it says nothing that its absence does not say too.
"""

from typing import NamedTuple

from ledger.core.txns import Txns


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


def advance(txns: Txns) -> None:
    """Recompute the stored watermark after an event that may have moved it."""
    low = bounds(txns).watermark
    assert low >= txns.watermark, f"the watermark fell from {txns.watermark} to {low}"
    txns.watermark = low
