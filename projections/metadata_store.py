"""The store of metadata: what a table is for a reader of any list, from rows.

Where a cache has to know that it knows enough, the rows simply hold every change there ever was:
the newest one that the reader sees is the answer, at once changes for everybody included. Also here
is how the entry of a cache is made of rows.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.tables import Pending, name_key
from ledger.core.write_form import definition_from, pending_from
from ledger.metadata import Name, Objects, objects_of
from projections import lookups
from projections.cache.bootstrap import effect_of_change
from projections.cache.chain import Chain, Sees, Version
from projections.cache.entry import Entry, Waiting, sees_all
from projections.cache.ids import IdStates, ReaderIds
from projections.cache.objects import Effect, shared
from projections.keys import pack
from projections.metadata_cache import VERSIONS_MAX, Stored, Wanted, is_called
from projections.rows import (
    DEFINITION,
    METADATA,
    NAME_TAKEN,
    OPEN_ID,
    TABLE_CREATED,
    WAITING,
    WRITE_IDS,
    last_number,
    number_key,
    pair_key,
    read_value,
)
from projections.store import RowReader, prefix_end


class Change(NamedTuple):
    """A change of a table's metadata: who sees it, and what it made new; None = as before."""

    position: int
    write_id: int
    name: Name | None
    is_defined: bool
    is_dropped: bool


def changes(rows: RowReader, table: int, after: int = 0) -> Iterator[Change]:
    """Return the changes of a table that came after a position, the newest first."""
    ends = pair_key(METADATA, table, after + 1), prefix_end(number_key(METADATA, table))
    for key, data in rows.scan(*ends, reverse=True):
        fields = read_value(data)
        yield Change(
            last_number(key),
            fields.get("write_id", 0),
            tuple(fields["name"]) if "name" in fields else None,
            "defined" in fields,
            "dropped" in fields,
        )


def stored(rows: RowReader, wanted: Wanted) -> Stored:
    """Return what a reader sees of a table, under the name it asks for."""
    position = lookups.position(rows)
    sees = sees_all if wanted.ids is None else wanted.ids.sees
    table = wanted.table or (table_named(rows, wanted.name, sees) if wanted.name else 0)
    name, objects, is_dropped = visible(rows, table, sees)
    waits = waiting(rows, table, wanted.own_txn)
    own = waits[wanted.own_txn].effect() if waits else Effect()
    name, objects = own.name or name, own.objects or objects
    if own.drops or is_dropped or (wanted.name is not None and not is_called(name, wanted.name)):
        name = objects = None
    is_settled, is_current = standing(rows, table, wanted.ids, wanted.own_txn)
    return Stored(position, is_settled, is_current, table, name, objects)


def table_named(rows: RowReader, name: Name, sees: Sees) -> int:
    """Return the table that took a name last, as far as the reader sees, and still has it; or 0."""
    named = (
        table for table in takers(rows, name) if is_called(visible_name(rows, table, sees), name)
    )
    return next(named, 0)


def takers(rows: RowReader, name: Name) -> Iterator[int]:
    """Return the tables that ever took a name, the one that did so last first."""
    prefix = pack(NAME_TAKEN, *name_key(*name))
    for _, data in rows.scan(prefix, prefix_end(prefix), reverse=True):
        yield int(read_value(data))


def visible_name(rows: RowReader, table: int, sees: Sees) -> Name | None:
    """Return the name of a table for a reader, None if it does not exist for it."""
    for change in changes(rows, table):
        if sees(change.write_id) and (change.name is not None or change.is_dropped):
            return change.name
    return None


def visible(rows: RowReader, table: int, sees: Sees) -> tuple[Name | None, Objects | None, bool]:
    """Return what a table is for a reader, None if it is not there yet, and whether it is gone."""
    name: Name | None = None
    objects: Objects | None = None
    for change in changes(rows, table):
        if not sees(change.write_id):
            continue
        if change.is_dropped:
            return None, None, True
        name = name or change.name
        if objects is None and change.is_defined:
            objects = objects_of(definition(rows, table, change.position))
        if name is not None and objects is not None:
            break
    return name, objects, False


def definition(rows: RowReader, table: int, position: int) -> TableDefinition:
    """Return what a table is since a position at which it was defined."""
    data = rows.get(pair_key(DEFINITION, table, position))
    assert data is not None, f"table {table} was defined at {position}, which has no row"
    return definition_from(read_value(data))


def waiting(rows: RowReader, table: int, txn: int) -> dict[int, Waiting]:
    """Return the changes of a table that wait with a txn, by the txn; empty if it has none."""
    prefix = number_key(WAITING, txn)
    found = Waiting(0)
    for key, data in rows.scan(prefix, prefix_end(prefix)) if txn else ():
        write_id, form = read_value(data)
        change: Pending = pending_from(form)
        if change.table == table:
            found.write_id = write_id
            found.effects[last_number(key)] = effect_of_change(change, change.definition)
    return {txn: found} if found.effects else {}


def standing(rows: RowReader, table: int, ids: ReaderIds | None, own_txn: int) -> tuple[bool, bool]:
    """Tell whether every id valid in a list has ended, and whether no committed one is missing.

    The id of the reader's own txn is not asked to have ended.
    """
    if ids is None:
        return True, True
    known = ids_of(rows, table)
    is_settled = not known.first_unknown(ids.without(known.id_of(own_txn)))
    return is_settled, is_settled and not known.lacks_committed(ids)


def ids_of(rows: RowReader, table: int) -> IdStates:
    """Return what is known of the write ids of a table."""
    sequence: dict[str, Any] = lookups.read_numbered(rows, WRITE_IDS, table) or {}
    ids = IdStates(sequence.get("last_write_id", 0))
    first = pair_key(OPEN_ID, table, sequence.get("mapped_from", 1))
    for key, data in rows.scan(first, prefix_end(number_key(OPEN_ID, table))):
        txn, *aborted = read_value(data)
        (ids.aborted if aborted else ids.open)[last_number(key)] = txn
    return ids


def load(rows: RowReader, table: int) -> Entry | None:
    """Return the entry of a table as of the rows' position, None if there never was one.

    It goes back over `VERSIONS_MAX` versions. Changes that wait are not in it.
    """
    if rows.get(number_key(TABLE_CREATED, table)) is None:
        return None
    entry = Entry(table, states=Chain())
    catch_up(rows, entry)
    return entry


def catch_up(rows: RowReader, entry: Entry) -> None:
    """Bring an entry to the rows' position: its ids, and the changes since it was made."""
    found: list[Change] = []
    lacks_name = lacks_objects = True
    for change in changes(rows, entry.table, entry.since):
        if len(found) >= VERSIONS_MAX and not (lacks_name or lacks_objects):
            # Between what the entry holds and what was found there is a gap.
            entry.name, entry.states, entry.is_trimmed = Chain(), Chain(), True
            break
        found.append(change)
        lacks_name = lacks_name and change.name is None and not change.is_dropped
        lacks_objects = lacks_objects and not (change.is_defined or change.is_dropped)
    for change in reversed(found):
        add(rows, entry, change)
    entry.trim(VERSIONS_MAX)
    entry.ids = ids_of(rows, entry.table)
    entry.since = lookups.position(rows)


def add(rows: RowReader, entry: Entry, change: Change) -> None:
    """Add a change to the versions of an entry."""
    assert entry.states is not None, "an entry made of rows has objects"
    place = change.position, change.write_id
    if change.name is not None or change.is_dropped:
        entry.name.put(Version(*place, change.name))
    if change.is_dropped:
        entry.states.put(Version(*place, None))
    if change.is_defined:
        objects = objects_of(definition(rows, entry.table, change.position))
        entry.states.put(Version(*place, shared(objects, entry.states.content())))
