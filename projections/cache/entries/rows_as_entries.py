"""The store of metadata: the state of a table for any list, from rows.

A cache has to check that it holds enough; the rows hold every change. The newest change that the
reader sees is the answer, changes at once included. Name and definition are searched apart, each
among its own changes, so a read passes only over changes that its reader does not see. Entries of a
cache are made from rows here too.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.evolve.form import definition_from, pending_from
from ledger.core.limits import NUMBER_MAX
from ledger.core.state.tables import Pending, name_key
from ledger.reads.metadata import Name, Objects, objects_of
from projections.cache.entries.chain import Chain, Version
from projections.cache.entries.entry import Entry, WaitingChanges
from projections.cache.entries.ids import IdStates, ReaderIds
from projections.cache.entries.steps import Effect, effect_of_change, shared
from projections.cache.fold import VERSIONS_MAX, is_called
from projections.cache.ports import EntryRead, StoreAnswer
from projections.reads import lookups
from projections.rows.keys import (
    DEFINED,
    DEFINITION,
    NAME_TAKEN,
    NAMED,
    OPEN_ID,
    TABLE_CREATED,
    WAITING,
    WRITE_IDS,
    last_number,
    number_key,
    pair_key,
    read_value,
)
from projections.rows.packing import pack
from projections.store.port import RowReader, highest_first, prefix_end


class RowChange(NamedTuple):
    """A change of a table's name or definition, or its drop: its position and its write id."""

    position: int
    write_id: int
    name: Name | None
    is_dropped: bool


def changes(rows: RowReader, kind: bytes, table: int, after: int = 0) -> Iterator[RowChange]:
    """Return the changes of one kind, `NAMED` or `DEFINED`, after a position, the newest first."""
    ends = pair_key(kind, table, after + 1), prefix_end(number_key(kind, table))
    for key, data in highest_first(rows, *ends):
        fields = read_value(data)
        yield RowChange(
            last_number(key),
            fields.get("write_id", 0),
            tuple(fields["name"]) if "name" in fields else None,
            "dropped" in fields,
        )


def newest(rows: RowReader, kind: bytes, table: int, ids: ReaderIds | None) -> RowChange | None:
    """Return the newest change of one kind that a reader sees, None if it sees none.

    The scan passes only over changes of that kind that the reader does not see.
    """
    seen = (
        change for change in changes(rows, kind, table) if ids is None or ids.sees(change.write_id)
    )
    return next(seen, None)


def store_answer(rows: RowReader, wanted: EntryRead) -> StoreAnswer:
    """Return what a reader sees of a table, under the name it asks for."""
    position = lookups.position(rows)
    table = wanted.table or (table_named(rows, wanted.name, wanted.ids) if wanted.name else 0)
    name, objects, is_dropped = visible(rows, table, wanted.ids)
    waits = waiting(rows, table, wanted.own_txn)
    own = waits[wanted.own_txn].effect() if waits else Effect()
    name, objects = own.name or name, own.objects or objects
    if own.drops or is_dropped or (wanted.name is not None and not is_called(name, wanted.name)):
        name = objects = None
    is_settled, is_current = judge_list(rows, table, wanted.ids, wanted.own_txn)
    may_settle = not is_settled and can_settle(rows, table, wanted.name)
    return StoreAnswer(position, is_settled, is_current, table, name, objects, may_settle)


def table_named(rows: RowReader, name: Name, ids: ReaderIds | None) -> int:
    """Return the last table that took a name and still has it, as the reader sees it, or 0."""
    named = (
        table for table in takers(rows, name) if is_called(visible_name(rows, table, ids), name)
    )
    return next(named, 0)


def takers(
    rows: RowReader, name: Name, *, after: int = 0, until: int = NUMBER_MAX - 1
) -> Iterator[int]:
    """Return the tables that took a name after a position, the last one first."""
    if not lookups.is_name(*name):
        return
    start, end = (pack(NAME_TAKEN, *name_key(*name), position + 1) for position in (after, until))
    for _, data in highest_first(rows, start, end):
        yield int(read_value(data))


def is_named_at(rows: RowReader, table: int, name: Name, position: int) -> bool:
    """Return whether a table had a name as of a position, whatever it is called since."""
    ends = pair_key(NAMED, table, 0), pair_key(NAMED, table, position + 1)
    last = next(rows.scan(*ends, limit=1, reverse=True), None)
    return last is not None and is_called(read_value(last[1]).get("name"), name)


def named_in(rows: RowReader, txn: int, name: Name) -> Iterator[int]:
    """Yield the tables that waiting changes of a txn give a name, the last one first."""
    prefix = number_key(WAITING, txn)
    for _, data in rows.scan(prefix, prefix_end(prefix), reverse=True):
        change = pending_from(read_value(data)[1])
        if change.name and is_called((change.catalog, change.name), name):
            yield change.table


def visible_name(rows: RowReader, table: int, ids: ReaderIds | None) -> Name | None:
    """Return the name of a table for a reader, None if it does not exist for it."""
    named = newest(rows, NAMED, table, ids)
    return named and named.name


def visible(
    rows: RowReader, table: int, ids: ReaderIds | None
) -> tuple[Name | None, Objects | None, bool]:
    """Return name and objects of a table for a reader, None if absent; whether it is dropped."""
    named, defined = (newest(rows, kind, table, ids) for kind in (NAMED, DEFINED))
    if named is not None and named.is_dropped:
        return None, None, True
    objects = defined and objects_of(definition(rows, table, defined.position))
    return named and named.name, objects, False


def definition(rows: RowReader, table: int, position: int) -> TableDefinition:
    """Return the definition of a table that was set at a position."""
    data = rows.get(pair_key(DEFINITION, table, position))
    assert data is not None, f"table {table} was defined at {position}, which has no row"
    return definition_from(read_value(data))


def waiting(rows: RowReader, table: int, txn: int) -> dict[int, WaitingChanges]:
    """Return the changes of a table that wait for the commit of a txn, by the txn."""
    prefix = number_key(WAITING, txn)
    waiting_changes = WaitingChanges(0)
    for key, data in rows.scan(prefix, prefix_end(prefix)) if txn else ():
        write_id, form = read_value(data)
        change: Pending = pending_from(form)
        if change.table == table:
            waiting_changes.write_id = write_id
            waiting_changes.effects[last_number(key)] = effect_of_change(change, change.definition)
    return {txn: waiting_changes} if waiting_changes.effects else {}


def judge_list(
    rows: RowReader, table: int, ids: ReaderIds | None, own_txn: int
) -> tuple[bool, bool]:
    """Return whether every id valid in a list has ended, and whether no committed one is missing.

    The id of the reader's own txn need not have ended.
    """
    if ids is None:
        return True, True
    known = ids_of(rows, table)
    is_settled = not known.first_unknown(ids.without(known.id_of(own_txn)))
    return is_settled, is_settled and not known.lacks_committed(ids)


def can_settle(rows: RowReader, table: int, name: Name | None) -> bool:
    """Return whether a table may get write ids: an external or impossible one will not."""
    row = lookups.table(rows, table)
    if row is None:
        return name is None or lookups.is_name(*name)
    return row.definition.kind == "managed"


def ids_of(rows: RowReader, table: int) -> IdStates:
    """Return the states of the write ids of a table."""
    sequence: dict[str, Any] = lookups.read_numbered(rows, WRITE_IDS, table) or {}
    ids = IdStates(sequence.get("last_write_id", 0))
    first = pair_key(OPEN_ID, table, sequence.get("mapped_from", 1))
    for key, data in rows.scan(first, prefix_end(number_key(OPEN_ID, table))):
        txn, *aborted = read_value(data)
        (ids.aborted if aborted else ids.open)[last_number(key)] = txn
    return ids


def load(rows: RowReader, table: int) -> Entry | None:
    """Return the entry of a table as of the rows' position, None for an unknown table.

    It holds up to `VERSIONS_MAX` versions. Waiting changes are not in it.
    """
    if rows.get(number_key(TABLE_CREATED, table)) is None:
        return None
    entry = Entry(table, states=Chain())
    catch_up(rows, entry)
    return entry


def catch_up(rows: RowReader, entry: Entry) -> None:
    """Bring an entry to the rows' position: its ids, and the changes since it was made."""
    names, states = entry.name, entry.states
    assert states is not None, "an entry made from rows has objects"
    for change in missed(rows, NAMED, entry):
        names.put(Version(change.position, change.write_id, change.name))
    for change in missed(rows, DEFINED, entry):
        objects = None
        if not change.is_dropped:
            defined = objects_of(definition(rows, entry.table, change.position))
            objects = shared(defined, states.content())
        states.put(Version(change.position, change.write_id, objects))
    entry.trim(VERSIONS_MAX)
    entry.ids = ids_of(rows, entry.table)
    entry.since = lookups.position(rows)


def missed(rows: RowReader, kind: bytes, entry: Entry) -> list[RowChange]:
    """Return the newest changes of one kind since an entry was made, oldest first.

    There is at most one more than an entry keeps: if changes before them are left out, trimming
    then drops all that the entry held, and shows it.
    """
    newest_first: list[RowChange] = []
    for change in islice(changes(rows, kind, entry.table, entry.since), VERSIONS_MAX + 1):
        newest_first.append(change)
        if not change.write_id:
            # Every reader sees it, so no reader needs earlier changes.
            break
    return newest_first[::-1]
