"""Evolve the life of txns except their commit: opened, given write ids, aborted, forgotten."""

from collections.abc import Sequence

from ledger.core.events.events import (
    AbortedForgotten,
    Control,
    SessionClosed,
    TxnAborted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
    WritesStaged,
)
from ledger.core.events.parts import AbortedPart, TxnEnd
from ledger.core.evolve.tables import drop_table, give_write_id, note_forgettable
from ledger.core.state import watermark
from ledger.core.state.domain import DomainState
from ledger.core.state.staged_progress import staged_weight
from ledger.core.state.txns import TxnInFlight


def txn_opened(state: DomainState, control: Control, body: TxnOpened) -> None:
    """Add open txns to their session, and give them the write ids they were opened with."""
    session = state.sessions.by_number.get(control.session)
    for txn in range(control.txn, control.txn + body.size):
        state.txns.begin(
            TxnInFlight(
                txn, body.type, control.session, body.min_open, control.position, body.deadline
            )
        )
        # The session of a cut may have been forgotten when a table takes up what it lost.
        if session is not None:
            session.txns[txn] = None
    give_write_ids(state, control, body)


def give_write_ids(
    state: DomainState, _control: Control, body: TxnOpened | WriteIdsAllocated
) -> None:
    """Give write ids to open txns; an id given before stays unchanged."""
    for table, txn, write_id in body.ids:
        give_write_id(state.txns, state.tables.by_id[table], state.txns.open[txn], write_id)


def writes_staged(state: DomainState, control: Control, body: WritesStaged) -> None:
    """Store a chunk of a footprint until its txn ends."""
    state.txns.open[control.txn].stage(body.table, body.footprint)
    state.txns.staged_bytes += staged_weight(body.footprint)


def txn_aborted(state: DomainState, control: Control, body: TxnAborted) -> None:
    """End a txn that will never be visible; a lost one-shot commit opened no txn."""
    if body.one_shot:
        return
    end_txn(state, control.position, control.txn, body.parts)
    watermark.advance(state.txns)


def txns_expired(state: DomainState, control: Control, body: TxnsExpired) -> None:
    """End overdue txns, and the sessions that fell silent."""
    end_txns(state, control, body.ends)
    for session in body.sessions:
        state.sessions.end(session)
    watermark.advance(state.txns)


def end_txns(state: DomainState, control: Control, ends: Sequence[TxnEnd]) -> None:
    """Abort several txns at one position."""
    for end in ends:
        end_txn(state, control.position, end.txn, end.parts)


def end_txn(state: DomainState, position: int, txn: int, parts: Sequence[AbortedPart]) -> None:
    """Abort one txn: drop its pending changes, and note the tables that hold its data."""
    for change in state.tables.pending.pop(txn, ()):
        if change.kind == "create":
            created = state.tables.by_id[change.table]
            drop_table(state, created, created.change)
    wrote = [part.table for part in parts if part.wrote and part.table in state.tables.by_id]
    forget_owner(state, state.txns.abort(txn, position, wrote, state.limits.outcomes_max))
    if txn in state.txns.aborted:
        note_forgettable(state, txn)


def forget_owner(state: DomainState, ended: TxnInFlight) -> None:
    """Remove an ended txn from its session, if the session is still remembered."""
    session = state.sessions.by_number.get(ended.session)
    if session is not None:
        session.txns.pop(ended.txn, None)


def aborted_forgotten(state: DomainState, _control: Control, body: AbortedForgotten) -> None:
    """Forget aborted ids whose data is gone."""
    for txn, table in body.parts:
        state.txns.release(txn, table)
    for txn in body.txns:
        state.txns.forget(txn)
    for txn in {part.txn for part in body.parts} - set(body.txns):
        note_forgettable(state, txn)
    watermark.advance(state.txns)


def session_closed(state: DomainState, control: Control, body: SessionClosed) -> None:
    """End a session and its txns."""
    end_txns(state, control, body.ends)
    left = state.sessions.by_number[control.session].txns
    if left:
        raise AssertionError(f"session {control.session} closed with txns {list(left)} open")
    state.sessions.end(control.session)
    watermark.advance(state.txns)
