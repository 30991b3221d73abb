"""Watermarks: the cleanup watermark as it is now, and which txns hold it (HIVE-18747).

There is one row, written when anything it says has changed.
"""

from collections.abc import Iterator

from ledger.core.state import DomainState
from projections.applied import Applied, Hold, hold
from projections.rows import WATERMARK, fields_value
from projections.store import RowChange


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the row if the event moved a bound or changed who holds it."""
    now = hold(applied.state)
    if now != applied.hold_before:
        yield WATERMARK, held(applied.state, now)


def held(state: DomainState, now: Hold) -> bytes:
    """Return the watermark, its bounds and its holders: an open txn, an aborted one, or both."""
    low, open_bound, aborted_bound, next_txn = now.bounds
    is_aborted_held = bool(now.left) and aborted_bound == low
    return fields_value(
        {
            "watermark": low,
            "open_bound": open_bound,
            "aborted_bound": aborted_bound,
            "next_txn": next_txn,
            "open": now.oldest_open if open_bound == low else 0,
            "aborted": aborted_bound if is_aborted_held else 0,
            "tables": sorted(state.txns.aborted[aborted_bound].wrote) if is_aborted_held else (),
        }
    )
