"""Tables drawn at random, and what becomes of their definitions."""

import json
from collections.abc import Callable, Sequence
from typing import Final

from ledger.core.commands import Column, Property, TableDefinition
from tests.core.histories import Draw
from tests.isolation.plain import Schema
from tests.isolation.rules import ENFORCE, IDENTITY, LEVEL
from tests.isolation.values import DATA_COLUMN

Fresh = Callable[[], int]
# Delta's name of a change, and the definition after it.
Alter = tuple[str, TableDefinition]

SCHEMAS: Final[Sequence[Schema]] = (
    (("p", "int"),),
    (("p", "int"), ("s", "string")),
    (("p", "int"),),
    (),
    (("d", "date"),),
)
PARTITION_COLUMNS: Final = ("p", "s", "d")
TABLE_LEVELS: Final = (
    *("", "Serializable", "WriteSerializable", "serializable", "writeserializable"),
    "SnapshotIsolation",
)


def drawn(draw: Draw) -> TableDefinition:
    """Return a managed table at one of the levels, partitioned or not."""
    schema = draw.of(SCHEMAS)
    columns = [Column(name, kind, nullable=True, id=0) for name, kind in schema]
    columns.append(Column(DATA_COLUMN, "int", nullable=True, id=0))
    level = draw.of(TABLE_LEVELS)
    properties = {LEVEL: level} if level else {}
    if not draw.mostly(85):
        properties[ENFORCE] = "true"
    return TableDefinition(
        *("managed", "directories" if draw.mostly(8) else "listed", "file:///t"),
        columns,
        [name for name, _ in schema],
        [Property(*item) for item in sorted(properties.items())],
    )


def schema_of(made: TableDefinition) -> Schema:
    types = {column.name: column.type for column in made.columns}
    return tuple((name, types[name]) for name in made.partition_columns)


def set_property(draw: Draw, fresh: Fresh, old: TableDefinition) -> Alter:
    """Set a property that no commit in flight can take on, or one that some can."""
    changed = {each.key: each.value for each in old.properties}
    match draw.below(4):
        case 0:
            changed["note"] = str(fresh())
        case 1:
            changed[LEVEL] = draw.of(TABLE_LEVELS[1:])
        case _:
            changed["delta.enableDeletionVectors"] = "true"
    properties = [Property(*item) for item in sorted(changed.items())]
    return "SET TBLPROPERTIES", old._replace(properties=properties)


def mark_identity(_: Draw, fresh: Fresh, old: TableDefinition) -> Alter:
    """Raise the mark of an identity column."""
    metadata = json.dumps({IDENTITY: fresh()})
    columns = [
        column._replace(metadata=metadata) if column.name == DATA_COLUMN else column
        for column in old.columns
    ]
    return "SYNC IDENTITY", old._replace(columns=columns)


def add_column(_: Draw, fresh: Fresh, old: TableDefinition) -> Alter:
    column = Column(f"c{fresh()}", "int", nullable=True, id=0)
    return "ADD COLUMNS", old._replace(columns=[*old.columns, column])


def replace(_: Draw, __: Fresh, old: TableDefinition) -> Alter:
    return "REPLACE TABLE", old


def repartition(draw: Draw, _: Fresh, old: TableDefinition) -> Alter:
    """Give a table other partition columns."""
    names = [column.name for column in old.columns if column.name in PARTITION_COLUMNS]
    return "REPARTITION", old._replace(partition_columns=names[: draw.below(3)])


ALTERS: Final[Sequence[Callable[[Draw, Fresh, TableDefinition], Alter]]] = (
    *(set_property, set_property, mark_identity, mark_identity, mark_identity),
    *(replace, replace, add_column, repartition),
)
