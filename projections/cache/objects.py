"""Effects of changes on the objects of a table, which a cache keeps version by version.

A change of a table carries its whole new state, so an object that the new definition lacks is gone
with it. `ledger.reads.metadata` defines the objects.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ledger.reads.metadata import Name, Objects


class Effect(NamedTuple):
    """The effect of changes on a table: a new name, all its new objects, its creation, its drop.

    None leaves a name or the objects as they were.
    """

    name: Name | None = None
    objects: Objects | None = None
    creates: bool = False
    drops: bool = False


def combined(effects: Iterable[Effect]) -> Effect:
    """Return the joint effect of the changes of one txn, in their order."""
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
    """Return objects that share memory with equal objects of the version before."""
    if objects is None or before is None:
        return objects
    return {
        name: before[name] if before.get(name) == value else value
        for name, value in objects.items()
    }
