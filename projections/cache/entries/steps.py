"""Steps: the effects of an event on a cache of metadata, table by table.

A cache needs little of an event: the write ids that it gives out, the changes of metadata that wait
with a txn or take effect at once, and the txns that end, with their number of changes. A change of
a table carries its whole new state, so an object that the new definition lacks is gone with it;
`ledger.reads.metadata` defines the objects.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.events.events import (
    AbortedForgotten,
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
from ledger.core.events.parts import AbortedPart, CommittedPart
from ledger.core.state.tables import Pending
from ledger.reads.metadata import Name, Objects, objects_of


class Effect(NamedTuple):
    """The effect of changes on a table: a new name, all its new objects, its creation, its drop.

    None leaves a name or the objects as they were.
    """

    name: Name | None = None
    objects: Objects | None = None
    creates: bool = False
    drops: bool = False


class Allocated(NamedTuple):
    """A txn has a write id in a table."""

    table: int
    txn: int
    write_id: int


class Changed(NamedTuple):
    """Change `number` of a txn waits for its end; `write_id` 0 stands for an external table."""

    table: int
    txn: int
    write_id: int
    number: int
    effect: Effect


class ChangedAtOnce(NamedTuple):
    """A change outside a txn, without a write id: every reader sees it from here on."""

    table: int
    effect: Effect


class Ended(NamedTuple):
    """A txn ended in one table, with a number of changes of metadata there."""

    table: int
    txn: int
    write_id: int
    changes: int
    committed: bool


class Forgotten(NamedTuple):
    """No data of an aborted txn is left in a table; table 0 stands for all."""

    table: int
    txn: int


Step = Allocated | Changed | ChangedAtOnce | Ended | Forgotten


def steps_of(event: Event) -> Iterator[Step]:
    """Return the steps of an event, in order."""
    control, body = event
    match body:
        case WriteIdsAllocated() | TxnOpened():
            yield from (Allocated(*each) for each in body.ids)
        case TableCreated() | TableAltered() | TableRenamed() | TableDropped():
            yield from change_steps(control.txn, body)
        case TxnCommitted():
            yield from ended(control.txn, body.parts, committed=True)
        case TxnAborted(one_shot=False):
            yield from ended(control.txn, body.parts, committed=False)
        case SessionClosed() | TxnsExpired():
            for end in body.ends:
                yield from ended(end.txn, end.parts, committed=False)
        case AbortedForgotten():
            yield from (Forgotten(table, txn) for txn, table in body.parts)
            yield from (Forgotten(0, txn) for txn in body.txns)
        case _:
            pass


def change_steps(txn: int, body: Any) -> Iterator[Step]:
    """Return a change of metadata; an alter that is a commit of its own ends with it."""
    effect = effect_of(body)
    if not txn:
        yield ChangedAtOnce(body.table, effect)
        return
    yield Changed(body.table, txn, body.write_id, body.number, effect)
    if isinstance(body, TableAltered) and body.one_shot:
        yield Ended(body.table, txn, body.write_id, 1, committed=True)


def effect_of(body: Any) -> Effect:
    """Return the effect of a change of metadata."""
    match body:
        case TableCreated():
            name = body.catalog, body.name
            return Effect(name, objects_of(body.definition), creates=True)
        case TableAltered():
            return Effect(objects=objects_of(body.definition))
        case TableRenamed():
            return Effect((body.catalog, body.name))
        case _:
            return Effect(drops=True)


def ended(
    txn: int, parts: Iterable[CommittedPart | AbortedPart], *, committed: bool
) -> Iterator[Step]:
    """Return the end of a txn in each of its tables."""
    for part in parts:
        yield Ended(part.table, txn, part.write_id, part.metadata_events, committed)


def effect_of_change(change: Pending, definition: TableDefinition | None) -> Effect:
    """Return the effect of a waiting change; `definition` is the new one, if there is one."""
    if change.kind == "drop":
        return Effect(drops=True)
    name = (change.catalog, change.name) if change.name else None
    objects = objects_of(definition) if definition is not None else None
    return Effect(name, objects, creates=change.kind == "create")


def combined(effects: Iterable[Effect]) -> Effect:
    """Return the joint effect of the changes of one txn, in their order."""
    name: Name | None = None
    objects: Objects | None = None
    creates = drops = False
    for effect in effects:
        name = name if effect.name is None else effect.name
        objects = objects if effect.objects is None else effect.objects
        creates = creates or effect.creates
        drops = drops or effect.drops
    return Effect(name, objects, creates, drops)


def shared(objects: Objects | None, before: Objects | None) -> Objects | None:
    """Return objects that share memory with equal objects of the version before."""
    if objects is None or before is None:
        return objects
    return {
        name: before[name] if before.get(name) == value else value
        for name, value in objects.items()
    }
