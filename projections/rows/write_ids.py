"""Write ids: TXN_TO_WRITE_ID by table, and where each table's sequence stands.

A mapping row comes with the id, whether it was allocated, taken by a change of metadata or given by
the commit, and goes when the core lets it go. None lies below the table's least mapped id: scans
start there, for deleted rows still cost whoever passes over them.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from ledger.core.events.events import (
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnCommitted,
    TxnOpened,
    WriteIdsAllocated,
)
from ledger.core.state.tables import Table
from projections.rows.applied import Applied, WriteId
from projections.rows.keys import MAPPING, WRITE_IDS, Fields, id_value, number_key, pair_key
from projections.rows.projection import EVERY, Rows
from projections.store.batch import LateChange


class SequenceFields(Fields):
    """Where the write ids of a table stand, and its version."""

    last_write_id: int = 0
    mapped_from: int = 0
    version: int = 0


def moved(applied: Applied, _body: object) -> Iterator[LateChange]:
    """Return the mappings that came and went, and the sequences of the tables that moved."""
    came, gone = applied.given, applied.cleaned
    if came and gone:
        # With no txn open a one-shot commit is below the watermark at once: its row never is.
        came, gone = set(came).difference(gone), set(gone).difference(came)
    for number, write_id, txn in came:
        yield pair_key(MAPPING, number, write_id), id_value(txn)
    for number, touched in applied.tables.items():
        yield number_key(WRITE_IDS, number), partial(sequence, touched.table)
    if gone:
        yield from left(applied, gone)


def cleaned(applied: Applied, _body: object) -> Iterable[LateChange]:
    """Return the mappings that went, as they may with any event."""
    return left(applied, applied.cleaned) if applied.cleaned else ()


def left(applied: Applied, gone: Iterable[WriteId]) -> Iterator[LateChange]:
    """Return the ends of mappings, and the sequences of the tables that they left."""
    tables = applied.state.tables.by_id
    for number, write_id, _ in gone:
        yield pair_key(MAPPING, number, write_id), None
        if number in tables:
            yield number_key(WRITE_IDS, number), partial(sequence, tables[number])


def sequence(table: Table) -> bytes:
    """Return the value of a table's row."""
    fields = SequenceFields(
        last_write_id=table.last_write_id,
        mapped_from=table.mapped_from,
        version=table.version,
    )
    return fields.value()


ROWS: Final[Mapping[type, Rows]] = {
    **dict.fromkeys(EVERY, cleaned),
    TxnOpened: moved,
    WriteIdsAllocated: moved,
    TxnCommitted: moved,
    TableCreated: moved,
    TableAltered: moved,
    TableRenamed: moved,
    TableDropped: moved,
}
