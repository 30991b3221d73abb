"""Traits of a table: the facts in its definition and protocol that decisions need.

The traits are computed once per definition, because decisions read them again and again. Features
are the names in a protocol; another commit may add one while a commit is in flight.
"""

from itertools import chain
from typing import Final, NamedTuple

from ledger.core.commands import LEVEL_PROPERTY, LEVELS, IsolationLevel, Protocol, TableDefinition
from ledger.core.partitions.keys import PartitionSchema
from ledger.core.partitions.transforms import transforms_of

# Features that a legacy protocol has without naming them, by writer version (PROTOCOL.md).
LEGACY_FEATURES: Final = (
    (2, ("appendOnly", "invariants")),
    (3, ("checkConstraints",)),
    (4, ("changeDataFeed", "generatedColumns")),
    (5, ("columnMapping",)),
    (6, ("identityColumns",)),
)
FEATURES_NAMED_FROM: Final = 7
# Any other feature, once added, may invalidate files of commits in flight (facts a.4, step 1).
HARMLESS_FEATURES: Final = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "columnMapping",
        "timestampNtz",
        "deletionVectors",
        "rowTracking",
        "domainMetadata",
        "icebergCompatV1",
        "icebergCompatV2",
        "icebergCompatV3",
        "v2Checkpoint",
        "catalogManaged",
        "typeWidening",
        "inCommitTimestamp",
        "vacuumProtocolCheck",
    }
)
# The features of delta-spark 4.4.0. The rules of later features for files are unknown here.
KNOWN_FEATURES: Final = HARMLESS_FEATURES | frozenset(
    {
        "adaptiveMetadata-preview",
        "allowColumnDefaults",
        "checkConstraints",
        "checkpointProtection",
        "clustering",
        "coordinatedCommits-preview",
        "generatedColumns",
        "geospatial",
        "geospatial-dev",
        "identityColumns",
        "invariants",
        "materializePartitionColumns",
        "typeWidening-preview",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)


def features_of(protocol: Protocol) -> frozenset[str]:
    """Return the features of a protocol, with those that legacy versions imply."""
    if protocol.min_writer >= FEATURES_NAMED_FROM:
        return frozenset(protocol.features)
    legacy = (names for version, names in LEGACY_FEATURES if protocol.min_writer >= version)
    return frozenset(chain.from_iterable(legacy)) | frozenset(protocol.features)


def protocol_change(before: Protocol, after: Protocol | None, *, enforced: bool) -> str:
    """Return the kind of a protocol action, "" if `after` is None.

    "beyond" adds an unknown feature. "breaks" removes a feature, or adds one that files in flight
    may violate, if that is `enforced`. No commit in flight survives these two. "adds" is any other
    action.
    """
    if after is None:
        return ""
    old, new = features_of(before), features_of(after)
    added = new - old
    if added - KNOWN_FEATURES:
        return "beyond"
    return "breaks" if old - new or (enforced and added - HARMLESS_FEATURES) else "adds"


DEFAULT_LEVEL: Final[IsolationLevel] = "WriteSerializable"
DEFAULT_PROTOCOL: Final = Protocol(1, 2, [])
ROW_TRACKING_PROPERTY: Final = "delta.enableRowTracking"
ENFORCE_PROPERTY: Final = "lakeledger.enforceConcurrentFeatureEnablement"
KNOWN_IN_ANY_CASE: Final = ("delta.", "lakeledger.")
LEVEL_OF: Final = {level.lower(): level for level in LEVELS}


class Traits(NamedTuple):
    """The isolation level, the partition columns with their types, and two switches.

    The type of a partition column is "" if the definition has no such column. With
    `enforces_features`, a commit fails if a feature enabled meanwhile may forbid its files.
    """

    level: IsolationLevel
    schema: PartitionSchema
    tracks_rows: bool
    enforces_features: bool


def traits_of(definition: TableDefinition) -> Traits:
    """Return the traits of a definition; an unknown level counts as the strongest.

    The keys of properties may have any case of letters, as in Delta.
    """
    properties = {each.key.lower(): each.value for each in definition.properties}
    level = properties.get(LEVEL_PROPERTY.lower(), DEFAULT_LEVEL)
    types = {column.name.lower(): column.type for column in definition.columns}
    for text, transform in transforms_of(definition).items():
        types[text.lower()] = transform.result_type(types.get(transform.column.lower(), ""))
    return Traits(
        LEVEL_OF.get(level.lower(), "Serializable"),
        tuple((name, types.get(name.lower(), "")) for name in definition.partition_columns),
        properties.get(ROW_TRACKING_PROPERTY.lower(), "").lower() == "true",
        properties.get(ENFORCE_PROPERTY.lower(), "").lower() == "true",
    )


def keeps_partitions(before: TableDefinition, after: TableDefinition) -> bool:
    """Return whether the partition values of files mean the same for another definition.

    A column that gets a wider type may have other results of a transform from then on.
    """
    return partitioned_by(before) == partitioned_by(after) and forms_in(before) == forms_in(after)


def forms_in(definition: TableDefinition) -> list[str]:
    """Return on what the results of the transforms of a table depend beside the values."""
    types = {column.name.lower(): column.type for column in definition.columns}
    found = transforms_of(definition).values()
    return [each.form(types.get(each.column.lower(), "")) for each in found]


def partitioned_by(definition: TableDefinition) -> tuple[tuple[str, str, int], ...]:
    """Return name, type and id of each partition column: equal results keep the values of files.

    The id is needed because one change may move the name of a column to another column. A transform
    has the id of its column.
    """
    ids = {column.name.lower(): column.id for column in definition.columns}
    for text, transform in transforms_of(definition).items():
        ids[text.lower()] = ids.get(transform.column.lower(), 0)
    schema = traits_of(definition).schema
    return tuple((name, kind, ids.get(name.lower(), 0)) for name, kind in schema)


def known_key(key: str) -> str:
    """Return a property's key as it is compared: Delta's and the ledger's keys ignore case."""
    lower = key.lower()
    return lower if lower.startswith(KNOWN_IN_ANY_CASE) else key


def is_level(text: str) -> bool:
    """Tell whether a text names an isolation level, in any case."""
    return text.lower() in LEVEL_OF
