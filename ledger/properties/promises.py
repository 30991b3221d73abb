"""What a published table does with each property and feature of Delta: one line each.

A property of Delta promises something to readers or asks something of writers. The ledger is the
only writer of a published log, so it obeys the property, or refuses it by name. Properties that a
Delta table brings along and that change no answer are kept.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import MAPPING_MODE, ROW_TRACKING, properties
from ledger.core.state.traits import is_level
from ledger.properties.column_mapping import is_published

Verdict = Literal["obeyed", "kept", "not set", "refused"]
"""`kept` changes nothing. `not set` is kept in an adopted table, and refused where it is set.
`refused` is refused in an adopted table too."""

Test = Callable[[str], bool]
DELTA: Final = "delta."


class Promise(NamedTuple):
    """What becomes of a property: its verdict, why, and the values for which that counts.

    Any other value is harmless, unless the property is obeyed: then it is refused as no value.
    With `feature` the log has the property only if its protocol has that feature.
    """

    verdict: Verdict
    why: str
    values: str = ""
    is_meant: Test = lambda _: True
    feature: str = ""


def is_true(value: str) -> bool:
    """Return whether a switch is on."""
    return value.lower() == "true"


def is_switch(value: str) -> bool:
    """Return whether a value is on or off."""
    return value.lower() in ("true", "false")


def is_count(value: str) -> bool:
    """Return whether a value is a number of versions that fits."""
    return value.isdecimal() and len(value) <= 9 and int(value) > 0  # noqa: PLR2004 - digits


def one_of(*values: str) -> Test:
    """Return a test for some values."""
    return lambda value: value.lower() in values


def none_of(*values: str) -> Test:
    """Return a test for any other value."""
    return lambda value: value.lower() not in values


def switch(verdict: Verdict, why: str, feature: str = "") -> Promise:
    """Return what becomes of a property that is on."""
    return Promise(verdict, why, "true", is_true, feature)


ICEBERG: Final = "no Iceberg metadata is made, so its readers would go on to see old rows"
VACUUM: Final = "`lakeledger table vacuum --older-than` says which files stay"
SIZES: Final = "`optimize` has its own size of files"
STATISTICS: Final = "the files have statistics of every column that has an order"
COORDINATOR: Final = "the ledger alone decides about commits"
PROTOCOL: Final = "the publisher names the features that the log needs"
OWN_NUMBERS: Final = "the publisher writes it itself"

PROMISES: Final[Mapping[str, Promise]] = {
    "delta.appendOnly": Promise("obeyed", "rows are inserted only", "true, false", is_switch),
    "delta.checkpointInterval": Promise(
        "obeyed", "a checkpoint every so many versions", "1 to 999999999", is_count
    ),
    "delta.isolationLevel": Promise("obeyed", "the level of commits", "a level", is_level),
    "delta.constraints.*": Promise("obeyed", "checked by each writer of rows", "a condition"),
    MAPPING_MODE: Promise(
        "obeyed", "columns keep their names in files", "none, name", one_of("none", "name")
    ),
    "delta.columnMapping.maxColumnId": Promise(
        "obeyed", "ids of columns go on above it", "a number"
    ),
    "delta.checkpoint.writeStatsAsJson": switch("obeyed", "checkpoints have statistics as JSON"),
    "delta.enableInCommitTimestamps": switch("obeyed", "each version has the time of its commit"),
    "delta.enableChangeDataFeed": switch(
        "refused", "files of a commit do not say which of their rows changed; `Ledger.changes` does"
    ),
    ROW_TRACKING: switch("refused", "a changed file gives its rows no lasting ids"),
    "delta.enableIcebergCompatV1": switch("refused", ICEBERG),
    "delta.enableIcebergCompatV2": switch("refused", ICEBERG),
    "delta.enableIcebergCompatV3": switch("refused", ICEBERG),
    "delta.universalFormat.*": Promise("refused", ICEBERG, "any but empty", bool),
    "delta.compatibility.symlinkFormatManifest.enabled": switch(
        "refused", "no manifests are made, so their readers would go on to see old rows"
    ),
    "delta.requireCheckpointProtectionBeforeVersion": Promise(
        "refused", "`publisher.retention_h` may delete those versions", "above 0", none_of("0")
    ),
    "delta.coordinatedCommits.*": Promise("refused", COORDINATOR),
    "delta.redirectReaderWriter-preview": Promise("refused", "the log lies where the table says"),
    "delta.redirectWriterOnly-preview": Promise("refused", "the log lies where the table says"),
    "delta.randomizeFilePrefixes": switch("not set", "files have names of their own"),
    "delta.randomPrefixLength": Promise("not set", "files have names of their own"),
    "delta.checkpointPolicy": Promise(
        "not set",
        "checkpoints are classic ones, which each reader takes",
        "any but `classic`",
        none_of("classic"),
        "v2Checkpoint",
    ),
    "delta.checkpoint.writeStatsAsStruct": switch("not set", "checkpoints have statistics as JSON"),
    "delta.logRetentionDuration": Promise(
        "not set", "`publisher.retention_h` says which versions stay"
    ),
    "delta.enableExpiredLogCleanup": Promise(
        "not set", "`publisher.retention_h` says which versions stay"
    ),
    "delta.deletedFileRetentionDuration": Promise("not set", VACUUM),
    "delta.setTransactionRetentionDuration": Promise(
        "not set", "the progress of applications stays"
    ),
    "delta.targetFileSize": Promise("not set", SIZES),
    "delta.tuneFileSizesForRewrites": switch("not set", SIZES),
    "delta.autoOptimize.*": Promise("not set", SIZES, "any but `false`", none_of("false")),
    "delta.autoOptimize": switch("not set", SIZES),
    "delta.parquet.*": Promise("not set", "the writer chooses the form of its files"),
    "delta.dataSkippingNumIndexedCols": Promise("not set", STATISTICS),
    "delta.dataSkippingStatsColumns": Promise("not set", STATISTICS),
    "delta.inCommitTimestampEnablementVersion": Promise("not set", OWN_NUMBERS),
    "delta.inCommitTimestampEnablementTimestamp": Promise("not set", OWN_NUMBERS),
    "delta.rowTracking.*": Promise("not set", "a changed file gives its rows no lasting ids"),
    "delta.rowTrackingSuspended": Promise("not set", "rows are not tracked"),
    "delta.feature.*": Promise("not set", PROTOCOL),
    "delta.minReaderVersion": Promise("not set", PROTOCOL),
    "delta.minWriterVersion": Promise("not set", PROTOCOL),
    "delta.ignoreProtocolDefaults": switch("not set", PROTOCOL),
    "delta.enableDeletionVectors": Promise(
        "kept", "it allows them; lakeledger.rows = marks writes them", feature="deletionVectors"
    ),
    "delta.enableTypeWidening": Promise(
        "kept", "a column may be widened in each table", feature="typeWidening"
    ),
    "delta.enableVariantShredding": Promise(
        "kept", "it allows shredding; the ledger writes none", feature="variantShredding"
    ),
    "delta.enableMaterializePartitionColumnsFeature": Promise("not set", PROTOCOL),
    "delta.castIcebergTimeType": Promise("kept", "it counts where an Iceberg table is converted"),
    "delta.lastCommitTimestamp": Promise("kept", "a note of another writer"),
    "delta.lastUpdateVersion": Promise("kept", "a note of another writer"),
    "delta.sampleRetentionDuration": Promise("kept", "samples are not made"),
    "delta.enableFullRetentionRollback": Promise("kept", "the ledger restores no version"),
    "delta.workloadBasedColumns.*": Promise("kept", "a hint of another writer"),
}

FEATURES: Final[Mapping[str, str]] = {
    "rowTracking": "files of the ledger have no row ids",
    "materializePartitionColumns": "files of the ledger lack the partition columns",
    "checkpointProtection": "`publisher.retention_h` may delete protected versions",
    "adaptiveMetadata-preview": "the log is published in its classic form",
}
"""Features that forbid adopting a table, and why."""

BY_KEY: Final = {key.lower(): (key, promise) for key, promise in PROMISES.items()}
FAMILIES: Final = tuple(key.removesuffix("*").lower() for key in PROMISES if key.endswith("*"))


def promise_of(key: str) -> Promise | None:
    """Return what becomes of a property; None for one that is not Delta's, or not known."""
    lower = key.lower()
    found = BY_KEY.get(lower)
    if found is None:
        family = next((each for each in FAMILIES if lower.startswith(each)), "")
        found = BY_KEY.get(f"{family}*") if family else None
    return None if found is None else found[1]


def check_promises(name: str, before: TableDefinition | None, after: TableDefinition) -> None:
    """Raise ValueError for a property that a published table is given, and that it does not obey.

    `name` is the table's. Properties that it had before it was published may be kept.
    """
    if not is_published(after):
        return
    known = properties(before) if before is not None else {}
    is_begun = before is None or not is_published(before)
    for key, value in properties(after).items():
        is_set = known.get(key) != value
        if not (is_set or is_begun):
            continue
        if reason := reason_against_property(key, value, is_set=is_set):
            raise ValueError(f"table {name} is published as Delta, and {reason}")


def reasons_against(definition: TableDefinition, features: Collection[str] = ()) -> Iterator[str]:
    """Yield why a Delta table cannot be adopted as it is: its properties and features."""
    for key, value in properties(definition).items():
        if reason := reason_against_property(key, value, is_set=False):
            yield reason
    for each in sorted(set(features) & set(FEATURES)):
        yield f"its protocol must be without the feature {each}: {FEATURES[each]}"


def reason_against_property(key: str, value: str, *, is_set: bool) -> str:
    """Return why a published table cannot have a property, "" if it can."""
    if not key.lower().startswith(DELTA):
        return ""
    promise = promise_of(key)
    if promise is None:
        return (
            f"its property {key} is not known, so it may promise what the ledger does not do. "
            "Unset it, or give it a name that does not begin with delta."
        )
    is_meant = promise.is_meant(value)
    if promise.verdict == "obeyed" and not is_meant and is_set:
        return f"its property {key} must be {promise.values}, got {value!r}"
    if is_meant and (promise.verdict == "refused" or (is_set and promise.verdict == "not set")):
        return f"its property {key} must not be {value!r}: {promise.why}"
    return ""


def without_effect(definition: TableDefinition) -> list[str]:
    """Return the properties of Delta that a table keeps, and that nothing obeys."""
    return [key for key, value in properties(definition).items() if is_without_effect(key, value)]


def is_without_effect(key: str, value: str) -> bool:
    """Return whether a property is kept and not obeyed."""
    promise = promise_of(key)
    return promise is not None and promise.verdict == "not set" and promise.is_meant(value)


def is_promised(key: str, value: str, features: Collection[str]) -> bool:
    """Return whether a log may have a property: it is obeyed, or says nothing false to readers."""
    promise = promise_of(key)
    if promise is None:
        return True
    is_meant = promise.is_meant(value)
    if promise.verdict == "refused":
        return not is_meant
    return not (promise.feature and is_meant) or promise.feature in features
