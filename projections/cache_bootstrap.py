"""Entries from a checkpoint: what a cache holds that begins at a position of the log, not at 0.

All of the state counts: the ids that are open, and the changes that wait with open txns. Without
them a later commit would show the old table under the new list.
"""

from collections.abc import Iterator

from ledger.core.commands import TableDefinition
from ledger.core.state import DomainState
from ledger.core.tables import Pending, Table
from projections.cache_chain import Chain, Version
from projections.cache_entry import Entry
from projections.cache_ids import IdStates, ReaderIds
from projections.cache_objects import Effect, objects_of
from projections.cache_steps import Changed


def entries_of(state: DomainState) -> dict[int, Entry]:
    """Return the entry of every table as of the state's position."""
    ids = ids_of(state)
    entries = {
        number: entry_of(table, ids[number], state.position)
        for number, table in state.tables.by_id.items()
    }
    for step in changes_of(state):
        entries[step.table].change(*step[1:])
    return entries


def entry_of(table: Table, ids: IdStates, position: int) -> Entry:
    """Return the entry of a table without what waits; one not yet created is empty."""
    entry = Entry(table.table, ids, since=position, states=Chain())
    if not table.creator:
        entry.floor = ReaderIds.of(ids.listed())
        entry.name = Chain([Version(0, 0, (table.catalog, table.name))])
        entry.states = Chain([Version(0, 0, objects_of(table.definition))])
    return entry


def ids_of(state: DomainState) -> dict[int, IdStates]:
    """Return what is known of the write ids of each table."""
    ids = {number: IdStates(table.last_write_id) for number, table in state.tables.by_id.items()}
    for number, txn in state.txns.open.items():
        for table, write_id in txn.write_ids.items():
            if table in ids:
                ids[table].open[write_id] = number
    for number, left in state.txns.aborted.items():
        for table, write_id in left.write_ids.items():
            if table in ids:
                ids[table].aborted[write_id] = number
    return ids


def changes_of(state: DomainState) -> Iterator[Changed]:
    """Return the changes that wait with open txns."""
    for txn, changes in state.tables.pending.items():
        held = state.txns.open[txn].write_ids
        for change in changes:
            table = state.tables.by_id[change.table]
            made = table.definition if change.kind == "create" else change.definition
            effect = effect_of_change(change, made)
            yield Changed(change.table, txn, held.get(change.table, 0), change.number, effect)


def effect_of_change(change: Pending, definition: TableDefinition | None) -> Effect:
    """Return what a waiting change will do; `definition` is the new one, if it brings one."""
    if change.kind == "drop":
        return Effect(drops=True)
    name = (change.catalog, change.name) if change.name else None
    objects = objects_of(definition) if definition is not None else None
    return Effect(name, objects, creates=change.kind == "create")
