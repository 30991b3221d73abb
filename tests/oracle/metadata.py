"""Metadata as a state in memory knows it: every change a reader sees, done again from the first.

The counterpart of `projections.cache.entries.rows_as_entries` for `tests.oracle.reads`. Each
answer goes through all events, so it is for short logs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ledger.core.events.events import (
    Event,
    SessionClosed,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnsExpired,
)
from ledger.core.lists.text import ID_MAX
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import name_key
from ledger.reads.metadata import Metadata, Name, Objects, Read, described, objects_of

CHANGES = (TableCreated, TableAltered, TableRenamed, TableDropped)


class Change(NamedTuple):
    """A change of a table: since when it holds, and for whom; write id 0 = for everybody."""

    position: int
    write_id: int
    body: Any


class Shape(NamedTuple):
    """What changes made of a table, and when it got its name; no name = it does not exist."""

    named_at: int
    name: Name | None
    objects: Objects


def metadata(events: Sequence[Event], tables: Iterable[int], read: Read) -> Metadata | None:
    """Return what a reader sees of a table, None if that does not exist for it."""
    if isinstance(read.table, int):
        table, shape = read.table, shape_of(events, read.table, read)
    else:
        known = [read.table_id] if read.table_id is not None else tables
        shapes = [(number, shape_of(events, number, read)) for number in known]
        wanted = name_key(read.catalog, read.table)
        named = [each for each in shapes if each[1].name and name_key(*each[1].name) == wanted]
        if not named:
            return None
        table, shape = max(named, key=lambda each: each[1].named_at)
    if shape.name is None or read.what not in shape.objects:
        return None
    return described(table, shape.name, shape.objects, read.what)


def is_settled(state: DomainState, table: int, ids: ValidWriteIdList | None) -> bool:
    """Tell whether every id valid in a list has ended, or none of them is to come."""
    found = state.tables.by_id.get(table)
    if ids is None or ids.hwm == ID_MAX or found is None or found.definition.kind == "external":
        return True
    is_open = any(
        ids.is_valid(txn.write_ids.get(table, ID_MAX)) for txn in state.txns.open.values()
    )
    return ids.hwm <= found.last_write_id and not is_open


def shape_of(events: Sequence[Event], table: int, read: Read) -> Shape:
    """Return what all changes of a table that a reader sees made of it."""
    sees: Callable[[int], bool] = read.write_ids.is_valid if read.write_ids else _sees_all
    changes, waiting = changes_of(events, table)
    seen = [each for each in changes if not each.write_id or sees(each.write_id)]
    shape = Shape(0, None, {})
    for change in (*seen, *waiting.get(read.own_txn, ())):
        shape = shape_after(shape, change)
    return shape


def shape_after(shape: Shape, change: Change) -> Shape:
    """Return what a change makes of a table."""
    body = change.body
    if isinstance(body, TableDropped):
        return Shape(change.position, None, {})
    if isinstance(body, TableCreated | TableAltered):
        shape = shape._replace(objects=objects_of(body.definition))
    if isinstance(body, TableCreated | TableRenamed):
        shape = shape._replace(named_at=change.position, name=(body.catalog, body.name))
    return shape


def changes_of(
    events: Sequence[Event], table: int
) -> tuple[Sequence[Change], dict[int, list[Change]]]:
    """Return the changes of a table that hold, in order, and those that wait, by their txn."""
    held: list[Change] = []
    waiting: dict[int, list[Change]] = {}
    for control, body in events:
        if isinstance(body, CHANGES) and body.table == table:
            change = Change(control.position, body.write_id, body)
            if not control.txn:
                held.append(change._replace(write_id=0))
            elif isinstance(body, TableAltered) and body.one_shot:
                held.append(change)
            else:
                waiting.setdefault(control.txn, []).append(change)
        for txn in ended(control.txn, body):
            done = waiting.pop(txn, [])
            if isinstance(body, TxnCommitted):
                held += [each._replace(position=control.position) for each in done]
    return held, waiting


def ended(txn: int, body: Any) -> Iterator[int]:
    if isinstance(body, TxnCommitted | TxnAborted):
        yield txn
    elif isinstance(body, SessionClosed | TxnsExpired):
        yield from (end.txn for end in body.ends)


def _sees_all(_write_id: int) -> bool:
    return True
