"""Evolve the life of txns: opened, given write ids, committed, aborted, forgotten."""

from collections.abc import Sequence

from ledger.core import watermark
from ledger.core.conflicts import Winner
from ledger.core.events import (
    AbortedForgotten,
    AbortedPart,
    CommittedPart,
    Control,
    SessionClosed,
    TxnAborted,
    TxnCommitted,
    TxnEnd,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.evolve_tables import (
    apply_pending,
    drop_table,
    give_write_id,
    note_forgettable,
    take_write_id,
)
from ledger.core.ids import JUDGED_TYPES
from ledger.core.state import DomainState
from ledger.core.txns import OpenTxn


def txn_opened(state: DomainState, control: Control, body: TxnOpened) -> None:
    """Add open txns to their session."""
    session = state.sessions.by_number[control.session]
    for txn in range(control.txn, control.txn + body.size):
        state.txns.begin(
            OpenTxn(txn, body.type, control.session, body.min_open, control.position, body.deadline)
        )
        session.txns[txn] = None


def write_ids_allocated(state: DomainState, _control: Control, body: WriteIdsAllocated) -> None:
    """Give write ids to open txns; an id given before is given again unchanged."""
    for table, txn, write_id in body.ids:
        give_write_id(state.tables.by_id[table], state.txns.open[txn], write_id)


def txn_committed(state: DomainState, control: Control, body: TxnCommitted) -> None:
    """Make a txn visible: its versions, its metadata changes, its claims to have won."""
    held: dict[int, int] = {}
    if body.one_shot:
        state.txns.commit_at_once(control.txn, control.position, state.limits.outcomes_max)
    else:
        ended = state.txns.commit(control.txn, control.position, state.limits.outcomes_max)
        held = ended.write_ids
        forget_owner(state, ended)
    for part in body.parts:
        commit_part(state, control, body, part, held.get(part.table, 0))
    if control.txn in state.tables.pending:
        apply_pending(state, control)
    watermark.advance(state.txns)
    prune_winners(state)


def commit_part(
    state: DomainState, control: Control, body: TxnCommitted, part: CommittedPart, held: int
) -> None:
    """Apply one table of a commit; `held` is the write id the txn had there before, or 0."""
    table = state.tables.by_id[part.table]
    assert part.version == table.version + 1, (
        f"version {part.version} of table {part.table} follows {table.version}"
    )
    table.version = part.version
    if held:
        assert part.write_id == held, f"write id {part.write_id} committed, the txn has {held}"
    elif part.write_id:
        take_write_id(table, part.write_id)
        state.txns.map(control.txn, part.table, part.write_id)
    if body.type in JUDGED_TYPES:
        for write in part.writes:
            winner = Winner(control.position, control.txn, control.session, write.operation)
            state.winners.record(part.table, write, winner)


def prune_winners(state: DomainState) -> None:
    """Let winners go that no open writing txn can meet any more."""
    oldest = state.txns.open_visible.minimum(0)
    opened = state.txns.open[oldest].opened if oldest else state.position
    limits = state.limits
    state.winners.prune(opened, limits.conflict_entries_min, limits.conflict_entries_max)


def txn_aborted(state: DomainState, control: Control, body: TxnAborted) -> None:
    """End a txn that will never be visible; a lost one-shot commit had opened nothing."""
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
    """Abort one txn: its pending changes vanish, its data stays where it wrote."""
    for change in state.tables.pending.pop(txn, ()):
        if change.kind == "create":
            created = state.tables.by_id[change.table]
            drop_table(state, created, created.change)
    wrote = [part.table for part in parts if part.wrote and part.table in state.tables.by_id]
    forget_owner(state, state.txns.abort(txn, position, wrote, state.limits.outcomes_max))
    if txn in state.txns.aborted:
        note_forgettable(state, txn)


def forget_owner(state: DomainState, ended: OpenTxn) -> None:
    """Take an ended txn from its session, if that is still remembered."""
    session = state.sessions.by_number.get(ended.session)
    if session is not None:
        session.txns.pop(ended.txn, None)


def aborted_forgotten(state: DomainState, _control: Control, body: AbortedForgotten) -> None:
    """Let aborted ids go whose data is gone."""
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
    assert not left, f"session {control.session} closed with txns {list(left)} open"
    state.sessions.end(control.session)
    watermark.advance(state.txns)
