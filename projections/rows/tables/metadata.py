"""Metadata: the changes of tables, from which a definition is found for any valid list.

A change of metadata has a row under its table and the position from which it holds, with the write
id that decides which readers see it. Changes of the name and changes of the definition have kinds
of their own, so that a scan for one never passes over the other; a drop is in both. The definition
itself is in the row at the same position (`tables`). Changes that wait for their commit have rows
under their txn. Committed write ids of a table have no row; open ones do, and aborted ones with
whether data may lie under them.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ledger.core.events.events import (
    AbortedForgotten,
    SessionClosed,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.evolve.form import pending_form
from ledger.core.state.tables import name_key
from ledger.core.state.txns import TxnInFlight
from projections.rows.applied import Applied, MetadataChange, TouchedTable
from projections.rows.keys import (
    DEFINED,
    NAME_TAKEN,
    NAMED,
    OPEN_ID,
    WAITING,
    Fields,
    pair_key,
    value,
)
from projections.rows.packing import pack
from projections.rows.projection import EVERY, Rows
from projections.store.port import RowChange


class ChangeFields(Fields):
    """A change of a table: its write id, the catalog and name it gave, and whether it is a drop."""

    write_id: int = 0
    name: tuple[str, str] | None = None
    dropped: int = 0


def change_rows(applied: Applied, body: MetadataChange) -> Iterator[RowChange]:
    """Return the rows of a change that holds from here on, or waits for its commit."""
    txn = applied.control.txn
    if txn in applied.state.txns.open:
        yield waiting(applied, body)
    else:
        write_id = body.write_id if txn else 0
        is_named = isinstance(body, TableCreated | TableRenamed)
        yield from of_change(applied, applied.tables[body.table], write_id, is_named=is_named)
    yield from given(applied, body)


def given(applied: Applied, body: object) -> Iterator[RowChange]:
    """Return the rows of write ids that opened, and the ends of cleaned ones."""
    for table, write_id, txn in applied.given:
        if write_id and txn in applied.state.txns.open:
            yield pair_key(OPEN_ID, table, write_id), value([txn])
    yield from cleaned(applied, body)


def committed(applied: Applied, body: TxnCommitted) -> Iterator[RowChange]:
    """Return the rows of changes that hold from here on, and the ends of open write ids."""
    for part in body.parts:
        if part.metadata_events:
            is_named = any(change.table == part.table and change.name for change in applied.changes)
            touched = applied.tables[part.table]
            yield from of_change(applied, touched, part.write_id, is_named=is_named)
    for txn in applied.ended.values():
        yield from no_longer_waiting(txn)
        for table, write_id in txn.write_ids.items():
            yield pair_key(OPEN_ID, table, write_id), None
    yield from cleaned(applied, body)


def aborted(applied: Applied, body: object) -> Iterator[RowChange]:
    """Return the ends of changes that waited, and the rows of the aborted write ids.

    The value is 1, or 0 if no data lies under the id.
    """
    for number, txn in applied.ended.items():
        yield from no_longer_waiting(txn)
        left = applied.state.txns.aborted.get(number)
        for table, write_id in txn.write_ids.items():
            has_data = left is not None and table in left.wrote
            yield pair_key(OPEN_ID, table, write_id), value([number, int(has_data)])
    yield from cleaned(applied, body)


def forgotten(applied: Applied, body: AbortedForgotten) -> Iterator[RowChange]:
    """Return the rows of write ids without data from here on, and the ends of cleaned ones."""
    for txn, table in body.parts:
        # A mapping that leaves with this same event is among the cleaned ones.
        mapped = applied.state.txns.mappings.get(txn, {})
        if table in mapped:
            yield pair_key(OPEN_ID, table, mapped[table]), value([txn, 0])
    yield from cleaned(applied, body)


def cleaned(applied: Applied, _body: object) -> Iterator[RowChange]:
    """Return the ends of cleaned write ids; any event may clean some."""
    for table, write_id, _ in applied.cleaned:
        key = pair_key(OPEN_ID, table, write_id)
        if applied.stored.get(key) is not None:
            yield key, None


def of_change(
    applied: Applied, touched: TouchedTable, write_id: int, *, is_named: bool
) -> Iterator[RowChange]:
    """Return the rows of a change that holds from here on, and the row of a name it took.

    With `is_named` the change names the table: some readers see that name for the first time.
    """
    table, position = touched.table, applied.control.position
    is_there = table.table in applied.state.tables.by_id
    is_renamed, dropped = is_there and is_named, int(not is_there)
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


def waiting(applied: Applied, body: MetadataChange) -> RowChange:
    """Return the row of a change that waits for its commit."""
    txn = applied.control.txn
    change = applied.state.tables.pending[txn][-1]
    form = pending_form(change)
    if isinstance(body, TableCreated):
        form[6] = list(body.definition)
    return pair_key(WAITING, txn, change.number), value([body.write_id, form])


def no_longer_waiting(txn: TxnInFlight) -> Iterator[RowChange]:
    """Return the ends of the changes that waited for the end of a txn."""
    for number in range(1, sum(txn.metadata.values()) + 1):
        yield pair_key(WAITING, txn.txn, number), None


ROWS: Final[Mapping[type, Rows]] = {
    **dict.fromkeys(EVERY, cleaned),
    TxnOpened: given,
    WriteIdsAllocated: given,
    TableCreated: change_rows,
    TableAltered: change_rows,
    TableRenamed: change_rows,
    TableDropped: change_rows,
    TxnCommitted: committed,
    TxnAborted: aborted,
    SessionClosed: aborted,
    TxnsExpired: aborted,
    AbortedForgotten: forgotten,
}
