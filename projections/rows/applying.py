"""Applying an event: the core's `evolve`, and the effects that projections need.

Some state is gone once the event is applied, so `apply` captures that first. It captures only what
the event touches, so the cost follows the size of the change, not the size of the domain.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.events.events import (
    Control,
    Event,
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
from ledger.core.events.parts import CommittedPart
from ledger.core.events.subjects import named_tables
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table
from ledger.core.state.txns import TxnInFlight
from ledger.errors import FileListError
from ledger.log.wire.counted_files import counted_files
from ledger.log.wire.file_list import FileList, chunks_of, unpack_chunks
from projections.rows.applied import Applied, MetadataChange, TouchedTable, WriteId
from projections.store.batch import StoredRows


def apply(state: DomainState, event: Event, stored: StoredRows) -> Applied:
    """Apply an event to the state and return its effects."""
    control, body = event
    names = NAMES.get(type(body), NOTHING)
    named = named_tables(body)
    tables = state.tables.by_id
    touched = {table: touch(tables[table]) for table in named if table in tables}
    ended = {txn: state.txns.open[txn] for txn in names.ended(control, body)}
    changes = state.tables.pending.get(control.txn, ()) if isinstance(body, TxnCommitted) else ()
    cleaned = evolve(state, event)
    for table in named:
        if table not in touched and table in tables:
            touched[table] = TouchedTable(tables[table], "", 0, None)
    # An id given before may be named again.
    ids = names.write_ids(control, body) if touched else ()
    given = [each for each in ids if each[1] > touched[each[0]].last_write_id_before]
    files = listed_files(body, ended.get(control.txn)) if isinstance(body, TxnCommitted) else {}
    return Applied(control, state, ended, named, touched, given, cleaned, changes, files, stored)


def touch(table: Table) -> TouchedTable:
    """Capture a table before the event changes it; a table that exists for all holds its name."""
    if table.creator:
        return TouchedTable(table, "", table.last_write_id, None)
    return TouchedTable(table, table.name, table.last_write_id, table.definition)


def listed_files(body: TxnCommitted, txn: TxnInFlight | None) -> dict[int, FileList | None]:
    """Return the files that each part of a commit lists; files that `txn` staged come first."""
    return {part.table: part_files(part, txn) for part in body.parts if part.footprint is not None}


def part_files(part: CommittedPart, txn: TxnInFlight | None) -> FileList | None:
    """Return the files of one part in the order sent, None if they cannot be decoded."""
    chunks = chunks_of(part, txn)
    try:
        return counted_files(part, chunks, unpack_chunks(chunks))
    except (FileListError, ValueError):
        return None


def ids_given(_control: Control, body: TxnOpened | WriteIdsAllocated) -> Sequence[WriteId]:
    """Return the write ids that an event gives to open txns."""
    return [(table, write_id, txn) for table, txn, write_id in body.ids]


def ids_of_parts(control: Control, body: TxnCommitted) -> Sequence[WriteId]:
    """Return the write ids of a commit, each with its table and its txn."""
    return [(part.table, part.write_id, control.txn) for part in body.parts]


def own_id(control: Control, body: MetadataChange) -> Sequence[WriteId]:
    """Return the write id of a change of metadata, with its table and its txn."""
    return ((body.table, body.write_id, control.txn),)


def own_txn(control: Control, body: TxnCommitted | TxnAborted) -> Sequence[int]:
    """Return the txn that an event ends; a one-shot txn was never open."""
    return () if body.one_shot else (control.txn,)


def ending_txns(_control: Control, body: SessionClosed | TxnsExpired) -> Sequence[int]:
    """Return all txns that an event ends."""
    return [end.txn for end in body.ends]


class NamedIds(NamedTuple):
    """How to read the events of one type: its write ids, new or not, and the txns it ends."""

    write_ids: Callable[[Control, Any], Sequence[WriteId]] = lambda _control, _body: ()
    ended: Callable[[Control, Any], Sequence[int]] = lambda _control, _body: ()


NOTHING: Final = NamedIds()
NAMES: Final[Mapping[type, NamedIds]] = {
    TxnOpened: NamedIds(ids_given),
    WriteIdsAllocated: NamedIds(ids_given),
    TableCreated: NamedIds(own_id),
    TableAltered: NamedIds(own_id),
    TableRenamed: NamedIds(own_id),
    TableDropped: NamedIds(own_id),
    TxnCommitted: NamedIds(ids_of_parts, own_txn),
    TxnAborted: NamedIds(ended=own_txn),
    SessionClosed: NamedIds(ended=ending_txns),
    TxnsExpired: NamedIds(ended=ending_txns),
}
