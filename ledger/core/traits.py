"""Traits of a table: what its definition says that decisions ask for again and again."""

from typing import Final, NamedTuple

from ledger.core.commands import LEVEL_PROPERTY, LEVELS, IsolationLevel, Protocol, TableDefinition
from ledger.core.partitions.keys import PartitionSchema

DEFAULT_LEVEL: Final[IsolationLevel] = "WriteSerializable"
DEFAULT_PROTOCOL: Final = Protocol(1, 2, [])
ROW_TRACKING_PROPERTY: Final = "delta.enableRowTracking"
ENFORCE_PROPERTY: Final = "lakeledger.enforceConcurrentFeatureEnablement"
KNOWN_IN_ANY_CASE: Final = ("delta.", "lakeledger.")
LEVEL_OF: Final = {level.lower(): level for level in LEVELS}


class Traits(NamedTuple):
    """The isolation level, the partition columns with their types, and two switches.

    The type of a partition column is "" where the table does not say its columns.
    `enforces_features` makes commits fail whose files a feature enabled meanwhile may forbid.
    """

    level: IsolationLevel
    schema: PartitionSchema
    tracks_rows: bool
    enforces_features: bool


def traits_of(definition: TableDefinition) -> Traits:
    """Return the traits of a definition; an unknown level counts as the strongest.

    Keys are known in any case of letters, as those that Delta defines are.
    """
    properties = {each.key.lower(): each.value for each in definition.properties}
    level = properties.get(LEVEL_PROPERTY.lower(), DEFAULT_LEVEL)
    types = {column.name.lower(): column.type for column in definition.columns}
    return Traits(
        LEVEL_OF.get(level.lower(), "Serializable"),
        tuple((name, types.get(name.lower(), "")) for name in definition.partition_columns),
        properties.get(ROW_TRACKING_PROPERTY.lower(), "").lower() == "true",
        properties.get(ENFORCE_PROPERTY.lower(), "").lower() == "true",
    )


def partitioned_by(definition: TableDefinition) -> tuple[tuple[str, str, int], ...]:
    """Return name, type and id of each partition column: equal ones give files equal values.

    The ids are asked for, too: one change may give the name of one column to another.
    """
    ids = {column.name.lower(): column.id for column in definition.columns}
    schema = traits_of(definition).schema
    return tuple((name, kind, ids.get(name.lower(), 0)) for name, kind in schema)


def known_key(key: str) -> str:
    """Return a property's key as it is known: those of Delta and the ledger in any case."""
    lower = key.lower()
    return lower if lower.startswith(KNOWN_IN_ANY_CASE) else key


def is_level(text: str) -> bool:
    """Tell whether a text names an isolation level, in any case."""
    return text.lower() in LEVEL_OF
