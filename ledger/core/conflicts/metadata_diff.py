"""The kind of a metadata change, which decides whether commits in flight survive it.

The kind depends on the change alone, so it is computed once, when the change commits. A commit in
flight survives `identity` and `resolvable` changes, and fails on all others (facts a.4 step 2,
a.5).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from ledger.core.commands import Column, TableDefinition
from ledger.core.predicates.json_text import read_json

MetadataKind = Literal["identity", "resolvable", "properties", "shape"]

IDENTITY_MARK: Final = "delta.identity.highWaterMark"
MAPPING_MODE: Final = "delta.columnMapping.mode"
COLUMN_ID: Final = "delta.columnMapping.id"
PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"
MAPPING_KEYS: Final = frozenset({COLUMN_ID, PHYSICAL_NAME})
NESTED_TYPE: Final = "lakeledger.delta.type"
"""Under this key a column keeps its Delta type if fields within it have metadata."""
ROW_TRACKING: Final = "delta.enableRowTracking"
# These properties may change only in a table that tracks rows.
ROW_COLUMNS: Final = frozenset(
    {
        "delta.rowTracking.materializedRowIdColumnName",
        "delta.rowTracking.materializedRowCommitVersionColumnName",
    }
)
TRUE: Final = "true"

Old = str | None
Allowed = Callable[[Old, str], bool]


def becomes_true(_old: Old, new: str) -> bool:
    """Accept a switch that is turned on."""
    return new.lower() == TRUE


def appears(old: Old, _new: str) -> bool:
    """Accept a property that was not there before."""
    return old is None


def any_value(_old: Old, _new: str) -> bool:
    """Accept any value."""
    return True


# Property: (feature that the protocol must have, test of the old and the new value).
RESOLVABLE: Final[Mapping[str, tuple[str, Allowed]]] = {
    ROW_TRACKING: ("rowTracking", becomes_true),
    **dict.fromkeys(ROW_COLUMNS, ("rowTracking", any_value)),
    MAPPING_MODE: ("columnMapping", lambda old, new: old in (None, "none") and new == "name"),
    "delta.columnMapping.maxColumnId": ("columnMapping", any_value),
    "delta.enableDeletionVectors": ("deletionVectors", becomes_true),
    "delta.checkpointPolicy": ("v2Checkpoint", lambda _old, new: new == "v2"),
    "delta.enableInCommitTimestamps": ("inCommitTimestamp", becomes_true),
    "delta.inCommitTimestampEnablementVersion": ("inCommitTimestamp", appears),
    "delta.inCommitTimestampEnablementTimestamp": ("inCommitTimestamp", appears),
    "io.unitycatalog.tableId": ("catalogManaged", appears),
}


def metadata_kind(
    old: TableDefinition, new: TableDefinition, features: frozenset[str]
) -> MetadataKind:
    """Return the kind of a change from `old` to `new` under a protocol with these features."""
    if raises_identity_only(old, new):
        return "identity"
    if is_reshaped(old, new):
        return "resolvable" if maps_columns_only(old, new, features) else "shape"
    if old[:3] != new[:3] or not are_resolvable(old, new, features):
        return "properties"
    return "resolvable"


def raises_identity_only(old: TableDefinition, new: TableDefinition) -> bool:
    """Tell whether only the high water marks of identity columns differ (c.5)."""
    plain = new._replace(columns=without_marks(new))
    return old != new and old._replace(columns=without_marks(old)) == plain


def without_marks(definition: TableDefinition) -> list[Column]:
    """Return the columns without the high water marks of identity columns."""
    return [without(column, {IDENTITY_MARK}) for column in definition.columns]


def without(column: Column, keys: frozenset[str] | set[str]) -> Column:
    """Return a column without some of its metadata."""
    metadata = column_metadata(column)
    left = {key: each for key, each in metadata.items() if key not in keys}
    return column._replace(metadata=json.dumps(left, sort_keys=True) if left else "")


def column_metadata(column: Column) -> Mapping[str, Any]:
    """Return the metadata of a column; text that is no JSON object becomes one opaque entry."""
    if not column.metadata:
        return {}
    try:
        found = read_json(column.metadata)
    except ValueError:
        return {"": column.metadata}
    return found if isinstance(found, dict) else {"": column.metadata}


def is_reshaped(old: TableDefinition, new: TableDefinition) -> bool:
    """Tell whether columns or partition columns differ."""
    return list(old.columns) != list(new.columns) or (
        list(old.partition_columns) != list(new.partition_columns)
    )


def maps_columns_only(old: TableDefinition, new: TableDefinition, features: frozenset[str]) -> bool:
    """Tell whether column mapping is turned on and the columns are otherwise unchanged."""
    before, after = properties(old), properties(new)
    if before.get(MAPPING_MODE, "none") != "none" or after.get(MAPPING_MODE) != "name":
        return False
    unmapped = [without(column, MAPPING_KEYS)._replace(id=0) for column in new.columns]
    return (
        [without(column, frozenset())._replace(id=0) for column in old.columns] == unmapped
        and list(old.partition_columns) == list(new.partition_columns)
        and old[:3] == new[:3]
        and are_resolvable(old, new, features)
    )


def are_resolvable(old: TableDefinition, new: TableDefinition, features: frozenset[str]) -> bool:
    """Tell whether every property that differs is on the allow list (a.5)."""
    before, after = properties(old), properties(new)
    if before.keys() - after.keys():
        return False
    changed = [key for key, value in after.items() if before.get(key) != value]
    if not ROW_COLUMNS.isdisjoint(changed) and after.get(ROW_TRACKING, "").lower() != TRUE:
        return False
    return all(is_allowed(key, before.get(key), after[key], features) for key in changed)


def is_allowed(key: str, old: Old, new: str, features: frozenset[str]) -> bool:
    """Tell whether a commit in flight survives this change of a property."""
    if key not in RESOLVABLE:
        return False
    feature, allowed = RESOLVABLE[key]
    return feature in features and allowed(old, new)


def properties(definition: TableDefinition) -> dict[str, str]:
    """Return the properties of a table by key."""
    return {each.key: each.value for each in definition.properties}
