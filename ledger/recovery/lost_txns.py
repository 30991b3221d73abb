"""Txns that a backup holds as ended or open, and that the log lacks."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ledger.core.events.events import (
    Event,
    SessionClosed,
    TableAltered,
    TxnAborted,
    TxnCommitted,
    TxnsExpired,
)
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.core.state.txns import TxnInFlight
from ledger.reads.port import EndStatus, TxnPart
from ledger.reads.txn_parts import (
    aborted_part,
    altered_part,
    committed_part,
    open_part,
    touched_tables,
)
from ledger.recovery.witnesses import LostTxn


class LostTxnEnd(NamedTuple):
    """The end of a txn, its effect on its tables, and its session."""

    status: EndStatus
    session: int
    parts: tuple[TxnPart, ...]


def lost_in(events: Iterator[Event], state: DomainState, known_from: str) -> Iterator[LostTxn]:
    """Yield the txns that events end, or leave open; the state moves past the events."""
    first = state.txns.next_txn
    for event in events:
        for number, end in ends_of(event, state.txns.open).items():
            user = user_of(state, end.session)
            position = event.control.position
            yield LostTxn(number, user, end.status, position, end.parts, known_from)
        evolve(state, event)
    for txn in state.txns.open.values():
        if txn.txn >= first:
            parts = tuple([open_part(txn, table) for table in touched_tables(txn)])
            user = user_of(state, txn.session)
            yield LostTxn(txn.txn, user, "open", 0, parts, known_from)


def ends_of(event: Event, open_txns: Mapping[int, TxnInFlight]) -> Mapping[int, LostTxnEnd]:
    """Return the txns that an event ends, by id; `open_txns` were open before it."""
    control, body = event
    match body:
        case TxnCommitted():
            txn = open_txns.get(control.txn)
            parts = tuple([committed_part(part, txn) for part in body.parts])
            # A commit in one step was never open.
            session = control.session if txn is None else txn.session
            return {control.txn: LostTxnEnd("committed", session, parts)}
        case TableAltered(one_shot=True):
            return {control.txn: LostTxnEnd("committed", control.session, (altered_part(body),))}
        case TxnAborted(one_shot=False):
            parts = tuple(map(aborted_part, body.parts))
            return {control.txn: LostTxnEnd("aborted", open_txns[control.txn].session, parts)}
        case SessionClosed() | TxnsExpired():
            return {
                end.txn: LostTxnEnd(
                    "aborted", open_txns[end.txn].session, tuple(map(aborted_part, end.parts))
                )
                for end in body.ends
            }
        case _:
            return {}


def user_of(state: DomainState, session: int) -> str:
    """Return the user of a session, "" if unknown."""
    found = state.sessions.by_number.get(session)
    return found.user if found is not None else ""
