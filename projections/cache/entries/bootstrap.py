"""Entries from a checkpoint: the content of a cache that begins at a position above 0.

The whole state counts: the open ids, and the changes that wait with open txns. Without them a later
commit would show the old table under the new list.
"""

from collections.abc import Callable, Iterator, Mapping

from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table
from ledger.reads.metadata import objects_of
from projections.cache.entries.chain import Chain, Version
from projections.cache.entries.entry import Entry
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.steps import Changed, effect_of_change
from projections.cache.fold import AppliedPositions, CacheState


def bootstrap(state: DomainState, blank: Callable[[int], Entry] = Entry) -> CacheState:
    """Return the cache of a domain's state, with its waiting changes."""
    cache = CacheState(AppliedPositions(state.position), blank=blank)
    for entry in entries_of(state, blank).values():
        cache.adopt(entry)
    cache.gone = gone_of(state)
    return cache


def entries_of(state: DomainState, blank: Callable[[int], Entry] = Entry) -> dict[int, Entry]:
    """Return the entry of every table as of the state's position, each begun as a blank one."""
    entries = {number: blank(number) for number in state.tables.by_id}
    set_ids(state, entries)
    for number, entry in entries.items():
        set_state(state.tables.by_id[number], entry)
        entry.since = state.position
    for step in changes_of(state):
        entries[step.table].change(*step[1:])
    return entries


def set_state(table: Table, entry: Entry) -> None:
    """Fill an entry with the committed state of its table; a table not yet committed has none."""
    entry.states = Chain()
    if not table.creator:
        entry.floor = ReaderIds.of(entry.ids.listed())
        entry.name = Chain([Version(0, 0, (table.catalog, table.name))])
        entry.states = Chain([Version(0, 0, objects_of(table.definition))])


def set_ids(state: DomainState, entries: Mapping[int, Entry]) -> None:
    """Fill entries with the states of the write ids of their tables."""
    for number, entry in entries.items():
        entry.ids.hwm = state.tables.by_id[number].last_write_id
    for number, txn in state.txns.open.items():
        for table, write_id in txn.write_ids.items():
            if table in entries:
                entries[table].ids.open[write_id] = number
    for number, left in state.txns.aborted.items():
        for table, write_id in left.write_ids.items():
            if table in entries:
                entries[table].ids.aborted[write_id] = number


def gone_of(state: DomainState) -> set[int]:
    """Return the tables that were dropped while txns that are still open hold ids in them."""
    held = (table for txn in state.txns.open.values() for table in txn.write_ids)
    return {table for table in held if table not in state.tables.by_id}


def changes_of(state: DomainState) -> Iterator[Changed]:
    """Return the changes that wait with open txns; a table may have been dropped meanwhile."""
    tables = state.tables.by_id
    for txn, changes in state.tables.pending.items():
        held = state.txns.open[txn].write_ids
        for change in (waiting for waiting in changes if waiting.table in tables):
            table = tables[change.table]
            made = table.definition if change.kind == "create" else change.definition
            effect = effect_of_change(change, made)
            yield Changed(change.table, txn, held.get(change.table, 0), change.number, effect)
