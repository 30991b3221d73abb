"""Write ids: TXN_TO_WRITE_ID by table, and the sequence of each table.

A mapping row is written with the id, whether that was allocated, taken by a change of metadata or
given by the commit. It is deleted when the core's state drops the mapping. No row lies below the
table's least mapped id: scans start there, because passing over deleted rows costs time.
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
    """The next and the least mapped write id of a table, and its version."""

    last_write_id: int = 0
    mapped_from: int = 0
    version: int = 0


def moved(applied: Applied, _body: object) -> Iterator[LateChange]:
    """Return the mappings that were written and deleted, and the sequences that moved."""
    came, gone = applied.given, applied.cleaned
    if came and gone:
        # With no txn open, a one-shot commit is below the watermark at once: its row is never
        # written.
        came, gone = set(came).difference(gone), set(gone).difference(came)
    for number, write_id, txn in came:
        yield pair_key(MAPPING, number, write_id), id_value(txn)
    for number, touched in applied.tables.items():
        yield number_key(WRITE_IDS, number), partial(sequence, touched.table)
    if gone:
        yield from left(applied, gone)


def cleaned(applied: Applied, _body: object) -> Iterable[LateChange]:
    """Return the ends of deleted mappings; any event may delete some."""
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
        last_write_id=table.last_write_id, mapped_from=table.mapped_from, version=table.version
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
