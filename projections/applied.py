"""Applied: one event together with all that projections need to know of its effect.

Some of it is gone once the event is applied: a txn it ended and what waited with it, a table it
dropped, the name a table had. `apply` takes hold of that first and then lets the core's `evolve` do
the work. It captures only what the event touches, so an event costs what it changes and not what
the domain holds.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.event_parts import CommittedPart
from ledger.core.events import (
    AbortedForgotten,
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
    WritesStaged,
)
from ledger.core.evolve import evolve
from ledger.core.state import DomainState
from ledger.core.tables import Pending, Table
from ledger.core.txns import OpenTxn
from ledger.errors import FileListError
from ledger.file_list import FileList, chunks_of, unpack_chunks
from projections.store.batch import Lookup

WriteId = tuple[int, int, int]
"""A write id and its txn, as (table, write id, txn)."""


class TouchedTable(NamedTuple):
    """A table as the event left it, dropped or not, and what it was before.

    `name_before` is the name it held for all, "" if none, `definition_before` what it was for all,
    None if it did not exist for them, `first_open_before` its least write id that had not ended.
    """

    table: Table
    name_before: str
    last_write_id_before: int
    definition_before: TableDefinition | None
    first_open_before: int


class Applied(NamedTuple):
    """An event, the state after it, and what it ended, touched, gave and cleaned.

    `state` is the live one: it holds until the next event is applied. `ended` are the txns that
    were open before, `given` the mappings (table, write id, txn) that came to TXN_TO_WRITE_ID with
    the event, `cleaned` those that left it; one that does both at once is in both.
    `changes` are the changes of metadata that waited for this commit, `files` what it adds and
    removes by table, None where nobody can read that. `stored` finds a row as the events before
    this one left it.
    """

    event: Event
    state: DomainState
    ended: Mapping[int, OpenTxn]
    tables: Mapping[int, TouchedTable]
    given: Collection[WriteId]
    cleaned: Collection[WriteId]
    changes: Sequence[Pending]
    files: Mapping[int, FileList | None]
    stored: Lookup


def apply(state: DomainState, event: Event, stored: Lookup) -> Applied:
    """Apply an event to the state and return what it did."""
    control, body = event
    tables = touched_tables(body)
    touched = {table: touch(state, table) for table in tables if table in state.tables.by_id}
    ended = {txn: state.txns.open[txn] for txn in ended_txns(control, body)}
    changes = state.tables.pending.get(control.txn, ()) if isinstance(body, TxnCommitted) else ()
    cleaned = evolve(state, event)
    for table in tables:
        if table not in touched and table in state.tables.by_id:
            touched[table] = TouchedTable(state.tables.by_id[table], "", 0, None, 1)
    # An id given before may be named again.
    named = named_ids(control, body) if touched else ()
    given = [each for each in named if each[1] > touched[each[0]].last_write_id_before]
    files = listed_files(body, ended.get(control.txn)) if isinstance(body, TxnCommitted) else {}
    return Applied(event, state, ended, touched, given, cleaned, changes, files, stored)


def listed_files(body: TxnCommitted, txn: OpenTxn | None) -> dict[int, FileList | None]:
    """Return the files that each part of a commit lists, those that `txn` staged before first."""
    return {part.table: part_files(part, txn) for part in body.parts if part.footprint is not None}


def part_files(part: CommittedPart, txn: OpenTxn | None) -> FileList | None:
    """Return the files of one part in the order in which they were sent, None if unreadable."""
    try:
        return unpack_chunks(chunks_of(part, txn))
    except FileListError:
        return None


def touch(state: DomainState, table_id: int) -> TouchedTable:
    """Take hold of a table before the event changes it."""
    table = state.tables.by_id[table_id]
    holder = state.tables.named(table.catalog, table.name)
    return TouchedTable(
        table,
        table.name if holder is table else "",
        table.last_write_id,
        table.definition if table.creator == 0 else None,
        state.txns.first_open(table_id, table.last_write_id),
    )


def touched_tables(body: Any) -> Collection[int]:
    """Return the tables an event names, each once."""
    match body:
        case WriteIdsAllocated() | TxnOpened():
            return dict.fromkeys(each.table for each in body.ids)
        case TxnCommitted() | TxnAborted():
            return [part.table for part in body.parts]
        case TableCreated() | TableAltered() | TableRenamed() | TableDropped() | WritesStaged():
            return (body.table,)
        case SessionClosed() | TxnsExpired():
            return dict.fromkeys(part.table for end in body.ends for part in end.parts)
        case AbortedForgotten():
            return dict.fromkeys(part.table for part in body.parts)
        case _:
            return ()


def named_ids(control: Control, body: Any) -> Sequence[WriteId]:
    """Return the write ids an event names, new or not."""
    match body:
        case TxnCommitted():
            return [(part.table, part.write_id, control.txn) for part in body.parts]
        case WriteIdsAllocated() | TxnOpened():
            return [(each.table, each.write_id, each.txn) for each in body.ids]
        case TableCreated() | TableAltered() | TableRenamed() | TableDropped():
            return [(body.table, body.write_id, control.txn)]
        case _:
            return ()


def ended_txns(control: Control, body: Any) -> Sequence[int]:
    """Return the open txns that an event ends; a one-shot commit ends none."""
    match body:
        case TxnCommitted(one_shot=False) | TxnAborted(one_shot=False):
            return (control.txn,)
        case SessionClosed() | TxnsExpired():
            return [end.txn for end in body.ends]
        case _:
            return ()
