"""Write ids: TXN_TO_WRITE_ID by table, and where each table's sequence stands.

A mapping row comes with the id, whether it was allocated, taken by a change of metadata or given by
the commit, and goes when the core lets it go. None lies below the table's least mapped id: scans
start there, for deleted rows still cost whoever passes over them.
"""

from collections.abc import Iterator

from ledger.core.events import (
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnCommitted,
    WriteIdsAllocated,
)
from ledger.core.tables import Table
from projections.applied import Applied
from projections.rows import MAPPING, WRITE_IDS, fields_value, id_value, number_key, pair_key
from projections.store import RowChange

Mapping = tuple[int, int, int]
"""A write id and its txn, as (table, write id, txn)."""

MOVING = (WriteIdsAllocated, TxnCommitted, TableCreated, TableRenamed, TableDropped)


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the mappings that came and went, and the sequences that moved."""
    # With no txn open a one-shot commit is below the watermark at once: its row never is.
    came, gone = set(given(applied)), set(applied.cleaned)
    for table, write_id, txn in came - gone:
        yield pair_key(MAPPING, table, write_id), id_value(txn)
    for table, write_id, _ in gone - came:
        yield pair_key(MAPPING, table, write_id), None
    for moved in moved_tables(applied):
        yield number_key(WRITE_IDS, moved.table), sequence(moved)


def given(applied: Applied) -> Iterator[Mapping]:
    """Return the mappings the event added; ids given before are repeated by it and left out."""
    return (
        mapping
        for mapping in named(applied)
        if mapping[1] > applied.tables[mapping[0]].last_write_id_before
    )


def named(applied: Applied) -> Iterator[Mapping]:
    """Return the mappings the event names, new or not."""
    control, body = applied.event
    match body:
        case TxnCommitted():
            for part in body.parts:
                yield part.table, part.write_id, control.txn
        case WriteIdsAllocated():
            for each in body.ids:
                yield each.table, each.write_id, each.txn
        case TableCreated() | TableRenamed() | TableDropped():
            yield body.table, body.write_id, control.txn
        case _:
            pass


def moved_tables(applied: Applied) -> Iterator[Table]:
    """Return the tables whose sequence, least mapped id or version the event may have moved."""
    if isinstance(applied.event.body, MOVING):
        yield from (touched.table for touched in applied.tables.values())
    tables = applied.state.tables.by_id
    yield from (tables[each] for each in {row[0] for row in applied.cleaned} if each in tables)


def sequence(table: Table) -> bytes:
    """Return the value of a table's row."""
    return fields_value(
        {
            "last_write_id": table.last_write_id,
            "mapped_from": table.mapped_from,
            "version": table.version,
        }
    )
