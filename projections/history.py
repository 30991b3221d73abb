"""History: every event in brief, and with it the valid txn list of every position.

A row says what the event did to the txns: `opened` (first id and how many), `ended` (no longer
open), `aborted` (now aborted, as far as others must know) and `forgotten` (no longer aborted). Now
and then a row of another kind lists all open and aborted txns. So the list as of any position is
the last such row at or before it and the history from there on: its cost does not grow with the
age of the oldest txn, and it reads nothing written later (law 6).
"""

from collections.abc import Iterator
from typing import Any, Final

from ledger.core.events import (
    AbortedForgotten,
    CommandRefused,
    CommandRepeated,
    CommandsMoved,
    TxnAborted,
    TxnOpened,
)
from ledger.core.state import DomainState
from ledger.core.valid_list_text import runs_text
from projections.applied import Applied
from projections.projection import EVERY
from projections.rows import EXCEPTIONS, HISTORY, Fields, number_key
from projections.store.port import RowChange

EVENTS: Final = EVERY
EXCEPTIONS_EVERY: Final = 64


class EventFields(Fields):
    """An event in brief; `opened` is the first txn and how many."""

    at: int = 0
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


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the event's row and, where one is due, that of all open and aborted txns."""
    position = applied.event.control.position
    yield number_key(HISTORY, position), brief(applied).value()
    if position % spacing(applied.state) == 0:
        yield number_key(EXCEPTIONS, position), exceptions(applied.state)


def brief(applied: Applied) -> EventFields:
    """Return an event in brief."""
    control, body = applied.event
    outcome, message = outcome_of(body)
    txns = applied.state.txns
    return EventFields(
        at=control.at,
        type=type(body).__name__,
        txn=control.txn,
        session=control.session,
        n=control.n,
        tables=tuple(sorted(applied.named)),
        watermark=txns.watermark,
        next_txn=txns.next_txn,
        outcome=outcome,
        message=message,
        opened=(control.txn, body.size) if isinstance(body, TxnOpened) else None,
        read_only=isinstance(body, TxnOpened) and body.type == "read_only",
        ended=tuple(applied.ended),
        aborted=tuple([txn for txn in applied.ended if txn in txns.aborted]),
        forgotten=tuple(body.txns) if isinstance(body, AbortedForgotten) else (),
    )


def outcome_of(body: Any) -> tuple[str, str]:
    """Return in a word why, where the type of the event does not say it, and in a sentence."""
    match body:
        case CommandRefused():
            return body.reason, body.message
        case TxnAborted():
            evidence = body.evidence
            return body.reason, evidence.exception if evidence is not None else ""
        case CommandRepeated():
            return body.outcome, ""
        case CommandsMoved():
            return "", body.reason
        case _:
            return "", ""


def spacing(state: DomainState) -> int:
    """Return how far apart the full lists are: about as many positions as they have ids.

    So both writing them, per event, and reading on from one cost no more than the list itself.
    """
    ids = len(state.txns.open) + len(state.txns.aborted)
    return max(EXCEPTIONS_EVERY, 1 << ids.bit_length())


def exceptions(state: DomainState) -> bytes:
    """Return all open and aborted txns; read-only ones are nobody's exceptions and stand apart."""
    txns = state.txns
    read_only = [txn for txn in txns.open if txn not in txns.open_visible]
    fields = ExceptionFields(
        next_txn=txns.next_txn,
        open=runs_text(txns.open_visible),
        read_only=runs_text(read_only),
        aborted=runs_text(txns.aborted_ids),
    )
    return fields.value()
