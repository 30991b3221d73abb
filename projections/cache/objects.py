"""What changes do to the objects of a table, as a cache keeps them version by version.

A change of a table carries its whole new state, so an object that the new definition lacks is gone
with it. What objects there are stands in `ledger.reads.metadata`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ledger.reads.metadata import Name, Objects


class Effect(NamedTuple):
    """What changes do to a table: a new name, new objects (all of them), its creation, its end.

    None leaves a name or the objects as they were.
    """

    name: Name | None = None
    objects: Objects | None = None
    creates: bool = False
    drops: bool = False


def combined(effects: Iterable[Effect]) -> Effect:
    """Return what changes of one txn do together, given in their order."""
    name: Name | None = None
    objects: Objects | None = None
    creates = drops = False
    for each in effects:
        name = name if each.name is None else each.name
        objects = objects if each.objects is None else each.objects
        creates = creates or each.creates
        drops = drops or each.drops
    return Effect(name, objects, creates, drops)


def shared(objects: Objects | None, before: Objects | None) -> Objects | None:
    """Return objects that take up no memory of their own where they are equal to those before."""
    if objects is None or before is None:
        return objects
    return {
        name: before[name] if before.get(name) == value else value
        for name, value in objects.items()
    }
