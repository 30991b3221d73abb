"""Evolve changes of tables: at once, or stored with an open txn until its commit."""

from ledger.core.events.events import (
    Control,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
)
from ledger.core.state import watermark
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Change, Pending, Table
from ledger.core.state.txns import TxnInFlight, Txns


def give_write_id(txns: Txns, table: Table, txn: TxnInFlight, write_id: int) -> None:
    """Map one write id; the ids of a table are dense, and a txn has at most one per table."""
    known = txn.write_ids.get(table.table)
    if known is not None:
        if known != write_id:
            raise AssertionError(f"write id {write_id} given to txn {txn.txn}, it has {known}")
        return
    take_write_id(table, write_id)
    txns.give(txn, table.table, write_id)


def take_write_id(table: Table, write_id: int) -> None:
    """Move a table's sequence to its next write id."""
    if write_id != table.last_write_id + 1:
        raise AssertionError(
            f"write id {write_id} of table {table.table} follows {table.last_write_id}"
        )
    table.last_write_id = write_id


def table_created(state: DomainState, control: Control, body: TableCreated) -> None:
    """Add a table, for all txns or only for its own."""
    tables = state.tables
    if body.table != tables.next_table:
        raise AssertionError(f"table {body.table}, next is {tables.next_table}")
    tables.next_table += 1
    change = Change(control.position, control.txn, control.session, "create")
    table = Table(body.table, body.catalog, body.name, body.definition, control.txn, change, change)
    tables.by_id[body.table] = table
    if control.txn:
        await_commit(
            state,
            control,
            body,
            Pending(body.number, "create", body.table, body.catalog, body.name, body.read_at),
        )
    else:
        tables.claim(table, body.name, change)
        table.version = 0


def table_altered(state: DomainState, control: Control, body: TableAltered) -> None:
    """Store a new definition with its open txn until the commit."""
    pending = Pending(
        body.number, "alter", body.table, "", "", body.read_at, body.definition, body.operation
    )
    await_commit(state, control, body, pending)


def table_renamed(state: DomainState, control: Control, body: TableRenamed) -> None:
    """Rename a table, at once or at the commit."""
    if control.txn:
        await_commit(
            state,
            control,
            body,
            Pending(body.number, "rename", body.table, body.catalog, body.name, body.read_at),
        )
        return
    table = state.tables.by_id[body.table]
    state.tables.release(table)
    table.change = Change(control.position, 0, control.session, "rename")
    state.tables.claim(table, body.name, table.change)


def table_dropped(state: DomainState, control: Control, body: TableDropped) -> None:
    """Drop a table with all aborted data in it, at once or at the commit."""
    if control.txn:
        await_commit(
            state, control, body, Pending(body.number, "drop", body.table, "", "", body.read_at)
        )
        return
    change = Change(control.position, 0, control.session, "drop")
    drop_table(state, state.tables.by_id[body.table], change)
    watermark.advance(state.txns)


def drop_table(state: DomainState, table: Table, change: Change) -> None:
    """Remove a table and the data that aborted txns left in it."""
    writers = tuple(state.txns.writers.get(table.table, {}).values())
    state.tables.drop(table, change)
    state.txns.release_table(table.table)
    for txn in writers:
        note_forgettable(state, txn)


def note_forgettable(state: DomainState, txn: int) -> None:
    """Mark an aborted txn for housekeeping if it left no data, or data in a listed table."""
    wrote = state.txns.aborted[txn].wrote
    if not wrote or any(is_listed(state, table) for table in wrote):
        state.txns.forgettable.add(txn)
    else:
        state.txns.forgettable.discard(txn)


def is_listed(state: DomainState, table: int) -> bool:
    """Tell whether the ledger lists the table's files."""
    return state.tables.by_id[table].definition.layout == "listed"


def await_commit(
    state: DomainState,
    control: Control,
    body: TableCreated | TableAltered | TableRenamed | TableDropped,
    pending: Pending,
) -> None:
    """Store a metadata change of an open txn until its end."""
    txn = state.txns.open[control.txn]
    if body.write_id:
        give_write_id(state.txns, state.tables.by_id[body.table], txn, body.write_id)
    txn.metadata[body.table] = txn.metadata.get(body.table, 0) + 1
    state.tables.pending.setdefault(control.txn, []).append(pending)


def apply_pending(state: DomainState, control: Control) -> None:
    """Apply the metadata changes of a txn; all old names are freed before new ones are claimed."""
    changes = state.tables.pending.pop(control.txn)
    final: dict[int, tuple[str, Change]] = {}
    for change in changes:
        table = state.tables.by_id[change.table]
        table.change = Change(control.position, control.txn, control.session, change.kind)
        if change.definition is not None:
            table.define(change.definition)
            continue
        if table.creator == 0:
            state.tables.release(table)
        name = "" if change.kind == "drop" else change.name or table.name
        final[change.table] = name, table.change
    for table_id, (name, change_of_name) in final.items():
        table = state.tables.by_id[table_id]
        table.creator = 0
        if name:
            state.tables.claim(table, name, change_of_name)
        else:
            drop_table(state, table, change_of_name)
