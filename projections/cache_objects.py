"""Objects: what a cache keeps of a table under its id, each with versions of its own.

The table itself is one object, its definition. Partitions, statistics and whatever else is looked
up alone are others: properties whose key begins with `object.`, such as `object.partition:day=1` or
`object.stats:delay`. A change of a table carries its whole new state, so an object that the new
definition lacks is gone with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ledger.core.commands import Property, TableDefinition

OBJECT_PREFIX: Final = "object."
TABLE: Final = "table"
NAME: Final = "name"

Name = tuple[str, str]
"""Catalog and name of a table, as its maker spelled them."""

Value = TableDefinition | str
Objects = Mapping[str, Value]


class TableMetadata(NamedTuple):
    """A table as one reader sees it; objects of their own are left out of the properties."""

    table: int
    catalog: str
    name: str
    definition: TableDefinition


Metadata = TableMetadata | str
"""What a read answers: the table, or the value of another object."""


class Effect(NamedTuple):
    """What changes do to a table: a new name, new objects (all of them), its creation, its end.

    None leaves a name or the objects as they were.
    """

    name: Name | None = None
    objects: Objects | None = None
    creates: bool = False
    drops: bool = False


def objects_of(definition: TableDefinition) -> Objects:
    """Return the objects that a definition holds."""
    own = [each for each in definition.properties if not is_object(each.key)]
    objects: dict[str, Value] = {TABLE: plain(definition, own)}
    for key, value in definition.properties:
        if is_object(key):
            objects[key.removeprefix(OBJECT_PREFIX)] = value
    return objects


def is_object(key: str) -> bool:
    """Tell whether a property is an object of its own; a key of rows can hold no zero byte."""
    name = key.removeprefix(OBJECT_PREFIX)
    return key.startswith(OBJECT_PREFIX) and name not in ("", TABLE, NAME) and "\0" not in name


def plain(definition: TableDefinition, properties: Sequence[Property]) -> TableDefinition:
    """Return a definition with these properties that is equal however its lists were kept."""
    return definition._replace(
        columns=tuple(definition.columns),
        partition_columns=tuple(definition.partition_columns),
        properties=tuple(properties),
    )


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


def described(table: int, name: Name, objects: Objects, what: str) -> Metadata:
    """Return one of the objects, the table together with its name."""
    value = objects[what]
    return value if isinstance(value, str) else TableMetadata(table, *name, value)
