"""Watermarks: the present cleanup watermark, the txns that hold it (HIVE-18747), and marks.

The watermark is one row, which most events change: it is made from the state when a batch ends. It
also holds the oldest open txn, which holds most marks. Each table has rows of how its least write
id that has not ended moved on. So a mark is a few lookups, and the cost of an event does not grow
with the number of tables.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from ledger.core.events.events import (
    AbortedForgotten,
    SessionClosed,
    TableAltered,
    TableDropped,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
)
from ledger.core.state.domain import DomainState
from ledger.core.state.watermark import bounds
from projections.rows.applied import Applied
from projections.rows.keys import FIRST_OPEN, WATERMARK, Fields, pair_key, value
from projections.rows.projection import Rows
from projections.store.batch import LateChange


class WatermarkFields(Fields):
    """The watermark, its bounds and its holders: an open txn, an aborted one, or both.

    `oldest` is the position of its snapshot and the oldest open txn, `tables` are the tables where
    the aborted one left data.
    """

    watermark: int = 0
    open_bound: int = 0
    aborted_bound: int = 0
    next_txn: int = 0
    oldest: tuple[int, int] | None = None
    open: int = 0
    aborted: int = 0
    tables: tuple[int, ...] = ()


def moved(applied: Applied, _body: object) -> Iterable[LateChange]:
    """Return the row of the watermark, which is written from the first txn on."""
    state = applied.state
    return [(WATERMARK, partial(held, state))] if state.txns.next_txn > 1 else ()


def ended(applied: Applied, body: object) -> Iterator[LateChange]:
    """Return the rows of the watermark and of tables whose least open write id moved on."""
    yield from moved(applied, body)
    # An id below the present least open one ended with this event, so before it the least was no
    # higher than that id.
    for number, write_id in ended_ids(applied):
        if number in applied.tables:
            last_write_id = applied.tables[number].table.last_write_id
            now = applied.state.txns.first_open(number, last_write_id)
            if now > write_id:
                yield pair_key(FIRST_OPEN, number, applied.control.position), value(now)


def ended_ids(applied: Applied) -> Iterator[tuple[int, int]]:
    """Return table and write id of each id that the event ended or gave; it may do both."""
    for txn in applied.ended.values():
        yield from txn.write_ids.items()
    for number, write_id, _ in applied.given:
        yield number, write_id


def held(state: DomainState) -> bytes:
    """Return the row of the watermark."""
    oldest, aborted = state.txns.oldest_open(), state.txns.aborted
    low, open_bound, aborted_bound, next_txn = bounds(state.txns)
    is_aborted_held = aborted_bound == low and aborted_bound in aborted
    fields = WatermarkFields(
        watermark=low,
        open_bound=open_bound,
        aborted_bound=aborted_bound,
        next_txn=next_txn,
        oldest=(oldest.opened, oldest.txn) if oldest is not None else None,
        open=oldest.txn if oldest is not None and open_bound == low else 0,
        aborted=aborted_bound if is_aborted_held else 0,
        tables=tuple(sorted(aborted[aborted_bound].wrote)) if is_aborted_held else (),
    )
    return fields.value()


ROWS: Final[Mapping[type, Rows]] = {
    TxnOpened: moved,
    TableDropped: moved,
    AbortedForgotten: moved,
    TxnCommitted: ended,
    TxnAborted: ended,
    TableAltered: ended,
    SessionClosed: ended,
    TxnsExpired: ended,
}
