"""History: every event in brief, and the valid txn list of every position.

A row holds how the event changed the txns: `opened` (first id and how many), `ended` (no longer
open), `aborted` (now aborted and in valid lists) and `forgotten` (no longer aborted). Now and then
a row of another kind lists all open and aborted txns. The list at a position is made from the last
such row at or before it, and the history from there on. So its cost does not grow with the age of
the oldest txn, and it reads nothing written later (law 6).

Where the log lost its end and was cut, a row holds the last position that is still in it, and the
first lost txn and the one behind the last.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ledger.core.events.events import (
    AbortedForgotten,
    Body,
    CommandRefused,
    CommandRepeated,
    CommandsMoved,
    LogCut,
    LogTrimmed,
    SessionClosed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
)
from ledger.core.events.subjects import reason_of
from ledger.core.lists.text import runs_text
from ledger.core.state.domain import DomainState
from projections.rows.applied import Applied
from projections.rows.keys import CUT, EXCEPTIONS, HISTORY, Fields, number_key, value
from projections.rows.projection import EVERY, Rows
from projections.store.port import RowChange

EXCEPTIONS_EVERY: Final = 64


class EventFields(Fields):
    """An event in brief: `opened` is the first txn and how many, `chain` is in hex digits."""

    at: int = 0
    chain: str = ""
    type: str = ""
    txn: int = 0
    session: int = 0
    n: int = 0
    tables: tuple[int, ...] = ()
    watermark: int = 0
    next_txn: int = 0
    outcome: str = ""
    message: str = ""
    opened: tuple[int, int] | None = None
    read_only: bool = False
    ended: tuple[int, ...] = ()
    aborted: tuple[int, ...] = ()
    forgotten: tuple[int, ...] = ()


class ExceptionFields(Fields):
    """All open and aborted txns, as text."""

    next_txn: int = 0
    open: str = ""
    read_only: str = ""
    aborted: str = ""


def rows(applied: Applied, body: Body) -> Iterator[RowChange]:
    """Return the event's row and, where one is due, the row of all open and aborted txns."""
    position = applied.control.position
    yield number_key(HISTORY, position), brief(applied, body).value()
    if isinstance(body, LogCut):
        lost = applied.state.txns.next_txn, body.next_txn
        yield number_key(CUT, position), value((body.base, *lost))
    # Every spacing is a multiple of the least one.
    if position % EXCEPTIONS_EVERY == 0 and position % spacing(applied.state) == 0:
        yield number_key(EXCEPTIONS, position), exceptions(applied.state)


def brief(applied: Applied, body: Body) -> EventFields:
    """Return an event in brief: the fields of every event, and those of its type."""
    control, txns, kind = applied.control, applied.state.txns, type(body)
    fields = EventFields(
        at=control.at,
        chain=control.chain.hex(),
        type=kind.__name__,
        txn=control.txn,
        session=control.session,
        n=control.n,
        tables=tuple(sorted(applied.named)),
        watermark=txns.watermark,
        next_txn=txns.next_txn,
    )
    if kind in SAID:
        SAID[kind](fields, applied, body)
    return fields


def opened(fields: EventFields, applied: Applied, body: TxnOpened) -> None:
    """Fill in which txns were opened."""
    fields.opened = (applied.control.txn, body.size)
    fields.read_only = body.type == "read_only"


def committed(fields: EventFields, applied: Applied, _body: TxnCommitted) -> None:
    """Fill in which txn was committed, unless it was a one-shot."""
    fields.ended = tuple(applied.ended)


def ended(fields: EventFields, applied: Applied, _body: object) -> None:
    """Fill in which txns are no longer open, and which of them appear in valid lists as aborted."""
    fields.ended = tuple(applied.ended)
    known = applied.state.txns.aborted
    fields.aborted = tuple([txn for txn in applied.ended if txn in known])


def aborted(fields: EventFields, applied: Applied, body: TxnAborted) -> None:
    """Fill in which txn was aborted and why, and the exception of a conflict."""
    ended(fields, applied, body)
    because(fields, applied, body)


def forgotten(fields: EventFields, _applied: Applied, body: AbortedForgotten) -> None:
    """Fill in which txns are no longer aborted."""
    fields.forgotten = tuple(body.txns)


def because(fields: EventFields, _applied: Applied, body: Body) -> None:
    """Fill in the reason of the event."""
    fields.outcome, fields.message = reason_of(body)


def spacing(state: DomainState) -> int:
    """Return the distance between full lists: about as many positions as a list has ids.

    So neither the cost of writing them, per event, nor of reading on from one exceeds that of the
    list itself.
    """
    ids = len(state.txns.open) + len(state.txns.aborted)
    return max(EXCEPTIONS_EVERY, 1 << ids.bit_length())


def exceptions(state: DomainState) -> bytes:
    """Return all open and aborted txns; read-only txns are apart, since no list excepts them."""
    txns = state.txns
    read_only = [txn for txn in txns.open if txn not in txns.open_visible]
    fields = ExceptionFields(
        next_txn=txns.next_txn,
        open=runs_text(txns.open_visible),
        read_only=runs_text(read_only),
        aborted=runs_text(txns.aborted_ids),
    )
    return fields.value()


SAID: Final[Mapping[type, Callable[[EventFields, Applied, Any], None]]] = {
    TxnOpened: opened,
    TxnCommitted: committed,
    TxnAborted: aborted,
    SessionClosed: ended,
    TxnsExpired: ended,
    AbortedForgotten: forgotten,
    CommandRefused: because,
    CommandRepeated: because,
    CommandsMoved: because,
    LogCut: because,
    LogTrimmed: because,
}
ROWS: Final[Mapping[type, Rows]] = dict.fromkeys(EVERY, rows)
