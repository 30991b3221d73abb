"""Tables: every incarnation of every table, and the table that holds each name.

A table has one row for its creation, which never changes, and one for its present name, definition,
last changes and drop. A change at once writes the second row, or the end of the txn that the change
waited for. Earlier definitions stay, by the position from which they held. A name row exists while
a committed table holds the name.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from ledger.core.commands import TableDefinition
from ledger.core.events.events import (
    Control,
    SessionClosed,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnsExpired,
)
from ledger.core.events.parts import AbortedPart, CommittedPart
from ledger.core.evolve.form import definition_from
from ledger.core.state.tables import Table, name_key
from ledger.core.state.traits import keeps_partitions
from projections.rows.applied import Applied, TouchedTable
from projections.rows.keys import (
    DEFINITION,
    PARTITIONED,
    TABLE,
    TABLE_CREATED,
    Fields,
    name_row_key,
    number_key,
    pair_key,
    read_value,
    value,
)
from projections.rows.projection import Rows
from projections.store.port import RowChange


class CreationFields(Fields):
    """The facts of an incarnation that never change."""

    created: int
    catalog: str = ""
    txn: int = 0
    session: int = 0


class TableFields(Fields):
    """The present state of a table.

    `partitioned` is the position at which its partition columns last changed, `creator` the open
    txn that alone sees the table.
    """

    definition: TableDefinition
    name: str = ""
    changed: int = 0
    operation: str = ""
    partitioned: int = 0
    creator: int = 0
    dropped: int = 0


def created(applied: Applied, body: TableCreated) -> Iterator[RowChange]:
    """Return the rows of a new table, which may exist for its txn only."""
    yield number_key(TABLE_CREATED, body.table), creation(applied.control, body)
    yield from change_rows(applied, (body.table,))


def altered(applied: Applied, body: TableAltered) -> Iterator[RowChange]:
    """Return the rows of a table with a new definition."""
    is_at_once = body.one_shot or not applied.control.txn
    return change_rows(applied, (body.table,) if is_at_once else ())


def renamed_or_dropped(applied: Applied, body: TableRenamed | TableDropped) -> Iterator[RowChange]:
    """Return the rows of a table with a new name, or of a dropped one."""
    return change_rows(applied, () if applied.control.txn else (body.table,))


def ended(applied: Applied, body: TxnCommitted | TxnAborted) -> Iterator[RowChange]:
    """Return the rows of the tables that the txn had changed."""
    return change_rows(applied, with_metadata(body.parts))


def all_ended(applied: Applied, body: SessionClosed | TxnsExpired) -> Iterator[RowChange]:
    """Return the rows of the tables that any of the txns had changed."""
    return change_rows(applied, with_metadata([part for end in body.ends for part in end.parts]))


def with_metadata(parts: Iterable[CommittedPart | AbortedPart]) -> Collection[int]:
    """Return the tables whose metadata a txn changed, each once."""
    return {part.table for part in parts if part.metadata_events}


def change_rows(applied: Applied, tables: Collection[int]) -> Iterator[RowChange]:
    """Return the rows of tables whose metadata the event changed, and of their names."""
    found = [applied.tables[table] for table in tables if table in applied.tables]
    for touched in found:
        number = touched.table.table
        since = partitioned(applied, touched.table)
        yield number_key(TABLE, number), table_value(applied, touched.table, since)
        if since == applied.control.position:
            yield number_key(PARTITIONED, number), value(since)
        yield from redefined(applied, touched)
    yield from names(applied, found)


def creation(control: Control, body: TableCreated) -> bytes:
    """Return the row of a creation."""
    fields = CreationFields(
        created=control.position, catalog=body.catalog, txn=control.txn, session=control.session
    )
    return fields.value()


def table_value(applied: Applied, table: Table, partitioned_at: int) -> bytes:
    """Return the row of a table after the event."""
    is_dropped = table.table not in applied.state.tables.by_id
    fields = TableFields(
        definition=table.definition,
        name=table.name,
        changed=table.change.position,
        operation=table.change.operation,
        partitioned=partitioned_at,
        creator=table.creator,
        dropped=applied.control.position if is_dropped else 0,
    )
    return fields.value()


def partitioned(applied: Applied, table: Table) -> int:
    """Return the position at which the partition columns last changed, 0 if they never did.

    For a table that a txn creates and alters, the change counts from the commit on.
    """
    stored = applied.stored.get(number_key(TABLE, table.table))
    if stored is None:
        return 0
    before = read_value(stored)
    if not keeps_partitions(definition_from(before["definition"]), table.definition):
        return applied.control.position
    found: int = before.get("partitioned", 0)
    return found


def redefined(applied: Applied, touched: TouchedTable) -> Iterator[RowChange]:
    """Return the row of the committed definition, if it is new."""
    table = touched.table
    is_there = table.creator == 0 and table.table in applied.state.tables.by_id
    if is_there and table.definition is not touched.definition_before:
        key = pair_key(DEFINITION, table.table, applied.control.position)
        yield key, value(table.definition)


def names(applied: Applied, changed: Sequence[TouchedTable]) -> Iterator[RowChange]:
    """Return the name rows: freed names first, then claimed ones, since tables may swap names."""
    for table, name_before, *_ in changed:
        if name_before:
            yield name_row_key(name_key(table.catalog, name_before)), None
    for table, *_ in changed:
        if applied.state.tables.named(table.catalog, table.name) is table:
            yield name_row_key(name_key(table.catalog, table.name)), value(table.table)


ROWS: Final[Mapping[type, Rows]] = {
    TableCreated: created,
    TableAltered: altered,
    TableRenamed: renamed_or_dropped,
    TableDropped: renamed_or_dropped,
    TxnCommitted: ended,
    TxnAborted: ended,
    SessionClosed: all_ended,
    TxnsExpired: all_ended,
}
