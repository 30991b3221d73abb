"""Metadata: what tables were for whom, so that a reader with any list can be told.

A change of metadata has a row under its table and the position from which on it holds, with the
write id that tells who sees it. Those that name a table and those that define it have kinds of
their own, so that who looks for the one never passes over the other; an end is in both. What the
table then is stands in the row of its definition at the same position (`tables`). Changes that wait
for their commit have rows under their txn. Of the write ids of a table only those are kept that
have not simply committed, and of the aborted ones whether data may lie under them.
"""

from collections.abc import Iterator
from typing import Final

from ledger.core.events import (
    AbortedForgotten,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnCommitted,
)
from ledger.core.tables import name_key
from ledger.core.write_form import pending_form
from projections.applied import Applied, TouchedTable
from projections.keys import pack
from projections.projection import EVERY
from projections.rows import (
    DEFINED,
    NAME_TAKEN,
    NAMED,
    OPEN_ID,
    WAITING,
    Fields,
    pair_key,
    value,
)
from projections.store.port import RowChange
from projections.tables import changed_tables

# Whatever the event, it may be the one with which mappings are cleaned.
EVENTS: Final = EVERY
CHANGES = (TableCreated, TableAltered, TableRenamed, TableDropped)


class ChangeFields(Fields):
    """A change of a table: who sees it, the catalog and name it gave, whether it is the end."""

    write_id: int = 0
    name: tuple[str, str] | None = None
    dropped: int = 0


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the rows of changes that hold or wait from here on, and of ids that came or ended."""
    if not (applied.tables or applied.ended or applied.cleaned):
        return
    for table, write_id in changed(applied).items():
        yield from of_change(applied, applied.tables[table], write_id)
    yield from waiting(applied)
    yield from ids(applied)


def changed(applied: Applied) -> dict[int, int]:
    """Return the write ids of the tables whose metadata changed for readers of that id."""
    control, body = applied.event
    if isinstance(body, TxnCommitted):
        return {part.table: part.write_id for part in body.parts if part.metadata_events}
    is_at_once = not control.txn or (isinstance(body, TableAltered) and body.one_shot)
    if is_at_once and isinstance(body, CHANGES):
        return dict.fromkeys(changed_tables(applied), body.write_id if control.txn else 0)
    return {}


def of_change(applied: Applied, touched: TouchedTable, write_id: int) -> Iterator[RowChange]:
    """Return the rows of a change that holds from here on, and that of a name it took."""
    table, position = touched.table, applied.event.control.position
    is_there = table.table in applied.state.tables.by_id
    is_renamed = is_there and is_named(applied, table.table)
    dropped = int(not is_there)
    if is_renamed or not is_there:
        name = (table.catalog, table.name) if is_renamed else None
        named = ChangeFields(write_id=write_id, name=name, dropped=dropped)
        yield pair_key(NAMED, table.table, position), named.value()
    if table.definition is not touched.definition_before or not is_there:
        defined = ChangeFields(write_id=write_id, dropped=dropped)
        yield pair_key(DEFINED, table.table, position), defined.value()
    if is_renamed:
        key = pack(NAME_TAKEN, *name_key(table.catalog, table.name), position)
        yield key, value(table.table)


def is_named(applied: Applied, table: int) -> bool:
    """Tell whether a change gave a table its name: for some readers that is new in any case."""
    if isinstance(applied.event.body, TxnCommitted):
        return any(change.table == table and change.name for change in applied.changes)
    return isinstance(applied.event.body, TableCreated | TableRenamed)


def waiting(applied: Applied) -> Iterator[RowChange]:
    """Return the row of a change that waits, and the ends of those that waited."""
    control, body = applied.event
    for txn, ended in applied.ended.items():
        for number in range(1, sum(ended.metadata.values()) + 1):
            yield pair_key(WAITING, txn, number), None
    if isinstance(body, CHANGES) and control.txn in applied.state.txns.open:
        change = applied.state.tables.pending[control.txn][-1]
        form = pending_form(change)
        if isinstance(body, TableCreated):
            form[6] = list(body.definition)
        yield pair_key(WAITING, control.txn, change.number), value([body.write_id, form])


def ids(applied: Applied) -> Iterator[RowChange]:
    """Return the write ids that are open from here on, and those that ended or were cleaned.

    An aborted one is kept with 1, with 0 from where on no data lies under it.
    """
    for table, write_id, txn in applied.given:
        if write_id and txn in applied.state.txns.open:
            yield pair_key(OPEN_ID, table, write_id), value([txn])
    body, txns = applied.event.body, applied.state.txns
    is_commit = isinstance(body, TxnCommitted)
    for txn, ended in applied.ended.items():
        wrote = txns.aborted[txn].wrote if txn in txns.aborted else ()
        for table, write_id in ended.write_ids.items():
            kept = value([txn, int(table in wrote)])
            yield pair_key(OPEN_ID, table, write_id), None if is_commit else kept
    for txn, table in body.parts if isinstance(body, AbortedForgotten) else ():
        # One that this very event lets go of is among the cleaned ones.
        mapped = txns.mappings.get(txn, {})
        if table in mapped:
            yield pair_key(OPEN_ID, table, mapped[table]), value([txn, 0])
    for table, write_id, _ in applied.cleaned:
        key = pair_key(OPEN_ID, table, write_id)
        if applied.stored(key) is not None:
            yield key, None
