"""Evolve: apply what happened to the state. No rules live here: the log is trusted, and asserted.

A failed assertion means that the log says what this code cannot have decided; the reader stops.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ledger.core import watermark
from ledger.core.conflicts import Winner
from ledger.core.events import (
    AbortedForgotten,
    AbortedPart,
    CatalogCreated,
    CommandRefused,
    CommandRepeated,
    CommandsMoved,
    CommittedPart,
    Control,
    Event,
    Fenced,
    LedgerCreated,
    Resigned,
    SessionClosed,
    SessionOpened,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnEnd,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.ids import JUDGED_TYPES
from ledger.core.sessions import Answered, Session
from ledger.core.state import DomainState
from ledger.core.tables import Change, Pending, Table
from ledger.core.txns import OpenTxn


def evolve(state: DomainState, event: Event) -> list[tuple[int, int, int]]:
    """Apply one accepted event to the state, in place.

    Returns the mappings of TXN_TO_WRITE_ID that left with it, as (table, write id, txn).
    """
    control, body = event
    assert control.position == state.position + 1, (
        f"position {control.position} applied after {state.position}"
    )
    state.position = control.position
    state.at = max(state.at, control.at)
    CHANGES[type(body)](state, control, body)
    if control.n:
        remember_answer(state, control, body)
    if state.txns.cleaned_below >= state.txns.watermark:
        return []
    return clean_mappings(state)


def clean_mappings(state: DomainState) -> list[tuple[int, int, int]]:
    """Let mappings below the watermark go, and note in each table where they begin now."""
    gone = state.txns.clean()
    for table_id, write_id, _ in gone:
        table = state.tables.by_id.get(table_id)
        if table is not None:
            table.clean(write_id)
    return gone


def fold(state: DomainState, events: Iterable[Event]) -> DomainState:
    """Apply many events and return the same state."""
    for event in events:
        evolve(state, event)
    return state


def remember_answer(state: DomainState, control: Control, body: Any) -> None:
    """Keep what a command was answered, so that its repeat can be told the same."""
    session = state.sessions.by_number.get(control.session)
    if session is not None:
        describe = ANSWERS.get(type(body))
        answer = (
            Answered(control.position, type(body).__name__, control.txn, 1)
            if describe is None
            else describe(control, body)
        )
        state.sessions.remember(session, control.n, answer)


def repeated_answer(_control: Control, body: CommandRepeated) -> Answered:
    """Return the first answer a repeat was told."""
    return Answered(body.answered, body.outcome, body.first, body.size)


def refused_answer(control: Control, body: CommandRefused) -> Answered:
    """Return a refusal under its reason."""
    return Answered(control.position, body.reason, body.subject, 0)


def opened_answer(control: Control, body: TxnOpened) -> Answered:
    """Return the txns that were opened."""
    return Answered(control.position, "TxnOpened", control.txn, body.size)


def created_answer(control: Control, body: TableCreated) -> Answered:
    """Return the table that was created."""
    return Answered(control.position, "TableCreated", body.table, 1)


def unchanged(_state: DomainState, _control: Control, _body: object) -> None:
    """Apply an event that says something about the log, not about the domain."""


def ledger_created(state: DomainState, _control: Control, body: LedgerCreated) -> None:
    """Note who the ledger is and what bounds it."""
    assert state.genesis is None, "LedgerCreated twice"
    state.genesis = body
    state.limits = body.limits
    state.commands_topic = body.commands_topic


def commands_moved(state: DomainState, _control: Control, body: CommandsMoved) -> None:
    """Note in which topic the commands are from here on."""
    state.commands_topic = body.topic


def catalog_created(state: DomainState, _control: Control, body: CatalogCreated) -> None:
    """Add a catalog."""
    state.catalogs.add(body.catalog)


def session_opened(state: DomainState, control: Control, body: SessionOpened) -> None:
    """Add a session under its position."""
    state.sessions.add(Session(control.position, *body))


def session_closed(state: DomainState, control: Control, body: SessionClosed) -> None:
    """End a session and its txns."""
    end_txns(state, control, body.ends)
    state.sessions.end(control.session)
    watermark.advance(state.txns)


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


def give_write_id(table: Table, txn: OpenTxn, write_id: int) -> None:
    """Map one write id; ids of a table are dense and a txn has at most one there."""
    known = txn.write_ids.get(table.table)
    if known is not None:
        assert known == write_id, f"write id {write_id} given to txn {txn.txn}, it has {known}"
        return
    take_write_id(table, write_id)
    txn.write_ids[table.table] = write_id


def take_write_id(table: Table, write_id: int) -> None:
    """Move a table's sequence to its next write id."""
    assert write_id == table.last_write_id + 1, (
        f"write id {write_id} of table {table.table} follows {table.last_write_id}"
    )
    table.last_write_id = write_id


def table_created(state: DomainState, control: Control, body: TableCreated) -> None:
    """Add a table, for all or only for its txn."""
    tables = state.tables
    assert body.table == tables.next_table, f"table {body.table}, next is {tables.next_table}"
    tables.next_table += 1
    change = Change(control.position, control.txn, control.session, "create")
    table = Table(
        body.table, body.catalog, body.name, body.definition, control.txn, change, control.position
    )
    tables.by_id[body.table] = table
    if control.txn:
        await_commit(
            state,
            control,
            body,
            Pending(body.number, "create", body.table, body.name, body.read_at),
        )
    else:
        tables.claim(table, body.name, control.position)
        table.version = 0


def table_renamed(state: DomainState, control: Control, body: TableRenamed) -> None:
    """Rename a table, at once or at the commit."""
    if control.txn:
        await_commit(
            state,
            control,
            body,
            Pending(body.number, "rename", body.table, body.name, body.read_at),
        )
        return
    table = state.tables.by_id[body.table]
    state.tables.release(table)
    state.tables.claim(table, body.name, control.position)
    table.change = Change(control.position, 0, control.session, "rename")


def table_dropped(state: DomainState, control: Control, body: TableDropped) -> None:
    """Drop a table, at once or at the commit; aborted data in it is gone with it."""
    if control.txn:
        await_commit(
            state, control, body, Pending(body.number, "drop", body.table, "", body.read_at)
        )
        return
    drop_table(state, state.tables.by_id[body.table])
    watermark.advance(state.txns)


def drop_table(state: DomainState, table: Table) -> None:
    """Remove a table and all that aborted txns left in it."""
    writers = tuple(state.txns.writers.get(table.table, ()))
    state.tables.drop(table)
    state.txns.release_table(table.table)
    for txn in writers:
        note_forgettable(state, txn)


def note_forgettable(state: DomainState, txn: int) -> None:
    """Enter an aborted txn for housekeeping if it left nothing, or something in a listed table."""
    wrote = state.txns.aborted[txn].wrote
    if not wrote or any(is_listed(state, table) for table in wrote):
        state.txns.forgettable.add(txn)
    else:
        state.txns.forgettable.discard(txn)


def is_listed(state: DomainState, table: int) -> bool:
    """Tell whether the ledger itself lists the table's files."""
    return state.tables.by_id[table].definition.layout == "listed"


def await_commit(
    state: DomainState,
    control: Control,
    body: TableCreated | TableRenamed | TableDropped,
    pending: Pending,
) -> None:
    """Keep a metadata change of an open txn until its end."""
    txn = state.txns.open[control.txn]
    if body.write_id:
        give_write_id(state.tables.by_id[body.table], txn, body.write_id)
    txn.metadata[body.table] = txn.metadata.get(body.table, 0) + 1
    state.tables.pending.setdefault(control.txn, []).append(pending)


def txn_committed(state: DomainState, control: Control, body: TxnCommitted) -> None:
    """Make a txn visible: its versions, its metadata changes, its claims to have won."""
    if body.one_shot:
        state.txns.commit_at_once(control.txn, control.position, state.limits.outcomes_max)
    else:
        forget_owner(
            state, state.txns.commit(control.txn, control.position, state.limits.outcomes_max)
        )
    for part in body.parts:
        commit_part(state, control, body, part)
    if control.txn in state.tables.pending:
        apply_pending(state, control)
    watermark.advance(state.txns)
    prune_winners(state)


def commit_part(
    state: DomainState, control: Control, body: TxnCommitted, part: CommittedPart
) -> None:
    """Apply one table of a commit."""
    table = state.tables.by_id[part.table]
    assert part.version == table.version + 1, (
        f"version {part.version} of table {part.table} follows {table.version}"
    )
    table.version = part.version
    if part.write_id > table.last_write_id:
        take_write_id(table, part.write_id)
        state.txns.map(control.txn, part.table, part.write_id)
    if body.type in JUDGED_TYPES:
        for write in part.writes:
            winner = Winner(control.position, control.txn, control.session, write.operation)
            state.winners.record(part.table, write, winner)


def apply_pending(state: DomainState, control: Control) -> None:
    """Apply the metadata changes of a txn: names are freed before any is claimed."""
    changes = state.tables.pending.pop(control.txn)
    final: dict[int, str] = {}
    for change in changes:
        table = state.tables.by_id[change.table]
        if table.creator == 0:
            state.tables.release(table)
        final[change.table] = "" if change.kind == "drop" else change.name or table.name
        table.change = Change(control.position, control.txn, control.session, change.kind)
    for table_id, name in final.items():
        table = state.tables.by_id[table_id]
        table.creator = 0
        if name:
            state.tables.claim(table, name, control.position)
        else:
            drop_table(state, table)


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
            drop_table(state, state.tables.by_id[change.table])
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


CHANGES: dict[type, Callable[[DomainState, Control, Any], None]] = {
    Fenced: unchanged,
    Resigned: unchanged,
    CommandsMoved: commands_moved,
    CommandRepeated: unchanged,
    CommandRefused: unchanged,
    LedgerCreated: ledger_created,
    CatalogCreated: catalog_created,
    SessionOpened: session_opened,
    SessionClosed: session_closed,
    TxnOpened: txn_opened,
    WriteIdsAllocated: write_ids_allocated,
    TableCreated: table_created,
    TableRenamed: table_renamed,
    TableDropped: table_dropped,
    TxnCommitted: txn_committed,
    TxnAborted: txn_aborted,
    TxnsExpired: txns_expired,
    AbortedForgotten: aborted_forgotten,
}

ANSWERS: dict[type, Callable[[Control, Any], Answered]] = {
    CommandRepeated: repeated_answer,
    CommandRefused: refused_answer,
    TxnOpened: opened_answer,
    TableCreated: created_answer,
}
