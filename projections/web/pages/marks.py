"""The page about the cleanup watermark, and what held it at a position."""

from itertools import pairwise
from typing import NamedTuple

from ledger.reads.port import TxnRow
from projections.web.pages.page import ROWS, Fields, PageView
from projections.web.pages.txns import valid_at


class HeldMark(NamedTuple):
    """The watermark of a position and the txns that hold it there, None for one that does not.

    Lists of the past have no read-only txns: if one of them held it, both are None.
    """

    watermark: int
    next_txn: int
    open: TxnRow | None
    aborted: TxnRow | None
    tables: tuple[int, ...]

    @property
    def is_held(self) -> bool:
        """Whether a txn holds the watermark."""
        return self.watermark < self.next_txn


def mark_at(view: PageView) -> HeldMark:
    """Return the watermark as of the position of a page."""
    if not view.is_past:
        now = view.reads.watermark()
        return HeldMark(now.watermark, now.next_txn, now.open, now.aborted, now.tables)
    event = view.event_at(view.at)
    if event is None:
        return HeldMark(1, 1, None, None, ())
    watermark, next_txn = event.watermark, event.next_txn
    if watermark >= next_txn:
        return HeldMark(watermark, next_txn, None, None, ())
    valid = valid_at(view)
    aborted = view.reads.txn(watermark) if valid.is_aborted(watermark) else None
    tables = () if aborted is None else tuple(part.table for part in aborted.parts if part.wrote)
    # The oldest open txn saw the least txn open.
    oldest = view.reads.txn(valid.open[0]) if valid.open else None
    holder = oldest if oldest is not None and oldest.min_open <= watermark else None
    return HeldMark(watermark, next_txn, holder, aborted, tables)


def watermark(view: PageView) -> Fields:
    """Gather the watermark, its holders, and how it moved lately."""
    mark = mark_at(view)
    first = max(0, view.at - 8 * ROWS)
    events = view.reads.history(first, view.at - first) if view.at else ()
    steps = [now for before, now in pairwise(events) if now.watermark != before.watermark]
    return {
        "mark": mark,
        "now": view.reads.watermark(),
        "tables": [(table, view.name_of(table)) for table in mark.tables[:ROWS]],
        "steps": list(reversed(steps))[:ROWS],
        "since": first + 1,
    }
