"""Features of tables: what a protocol names, and what one more means to commits in flight."""

from itertools import chain
from typing import Final

from ledger.core.commands import Protocol

# Features that a legacy protocol has without naming them, by writer version (PROTOCOL.md).
LEGACY_FEATURES: Final = (
    (2, ("appendOnly", "invariants")),
    (3, ("checkConstraints",)),
    (4, ("changeDataFeed", "generatedColumns")),
    (5, ("columnMapping",)),
    (6, ("identityColumns",)),
)
FEATURES_NAMED_FROM: Final = 7
# Every other feature, once added, may make files of commits in flight wrong (facts a.4, step 1).
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
# Those of delta-spark 4.4.0. What a later one forbids or asks of files nobody here can tell.
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
    """Return the features a protocol has, those of the legacy versions included."""
    if protocol.min_writer >= FEATURES_NAMED_FROM:
        return frozenset(protocol.features)
    legacy = (names for version, names in LEGACY_FEATURES if protocol.min_writer >= version)
    return frozenset(chain.from_iterable(legacy)) | frozenset(protocol.features)


def protocol_change(before: Protocol, after: Protocol | None, *, enforced: bool) -> str:
    """Return what a protocol action means to commits in flight; "" without one.

    "beyond" adds a feature that is not known here, "breaks" takes one away, or adds one that files
    may not obey where that is `enforced`: none of them survives either. "adds" is all else.
    """
    if after is None:
        return ""
    old, new = features_of(before), features_of(after)
    added = new - old
    if added - KNOWN_FEATURES:
        return "beyond"
    return "breaks" if old - new or (enforced and added - HARMLESS_FEATURES) else "adds"
