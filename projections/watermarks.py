"""Watermarks: the cleanup watermark as it is now, and which txns hold it (HIVE-18747); and marks.

There is one row of the watermark, written when anything it says has changed; the oldest open txn,
which holds most marks, stands there too. Of each table there are rows of how its least write id
that has not ended moved on. So a mark is a few lookups, and no event costs more for many tables.
"""

from collections.abc import Iterator
from typing import Final

from ledger.core.state import DomainState
from projections.applied import Applied, Hold, hold
from projections.projection import EVERY
from projections.rows import FIRST_OPEN, WATERMARK, fields_value, pair_key, value
from projections.store import RowChange

EVENTS: Final = EVERY


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the rows of the watermark and of the least write ids that the event moved."""
    now = hold(applied.state)
    if now != applied.hold_before:
        yield WATERMARK, held(applied.state, now)
    yield from first_open(applied)


def held(state: DomainState, now: Hold) -> bytes:
    """Return the watermark, its bounds and its holders: an open txn, an aborted one, or both.

    `oldest` is the oldest open txn with the position of its snapshot.
    """
    oldest = state.txns.oldest_open()
    low, open_bound, aborted_bound, next_txn = now.bounds
    is_aborted_held = bool(now.left) and aborted_bound == low
    return fields_value(
        {
            "watermark": low,
            "open_bound": open_bound,
            "aborted_bound": aborted_bound,
            "next_txn": next_txn,
            "oldest": [oldest.opened, oldest.txn] if oldest is not None else None,
            "open": now.oldest_open if open_bound == low else 0,
            "aborted": aborted_bound if is_aborted_held else 0,
            "tables": sorted(state.txns.aborted[aborted_bound].wrote) if is_aborted_held else (),
        }
    )


def first_open(applied: Applied) -> Iterator[RowChange]:
    """Return the rows of the tables in which the least write id that has not ended moved on."""
    for number, touched in applied.tables.items():
        now = applied.state.txns.first_open(number, touched.table.last_write_id)
        if now != touched.first_open_before:
            yield pair_key(FIRST_OPEN, number, applied.event.control.position), value(now)
