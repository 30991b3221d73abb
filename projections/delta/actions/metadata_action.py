"""The metaData action of a published table: what the import of a Delta table does, backwards."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple, Self
from uuid import UUID, uuid5

from ledger.core.commands import LEVEL_PROPERTY, TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.state.traits import KNOWN_FEATURES
from ledger.delta.schema import (
    ADOPTED,
    COMMENT,
    DESCRIPTION,
    OTHER_SPELLINGS,
    TABLE_NAME,
    UNKNOWN_LEVEL,
)
from ledger.properties.column_mapping import HIGHEST_ID, PUBLISH, highest_id, is_mapped
from ledger.properties.promises import is_promised
from projections.delta.actions.schema_json import (
    TypeChanges,
    UnpublishableError,
    compact,
    ids_within,
    plain_partition_columns,
    schema_of,
)

FOLDER: Final = "lakeledger.publish.folder"
"""Under this property a table has the folder of its published log, if that is not its location."""

TIMESTAMPS: Final = "delta.enableInCommitTimestamps"
ENABLED_VERSION: Final = "delta.inCommitTimestampEnablementVersion"
ENABLED_AT: Final = "delta.inCommitTimestampEnablementTimestamp"
# Delta has another form for these, or a published log has its own values.
LEFT_OUT: Final = frozenset(
    each.lower()
    for each in (
        *(PUBLISH, FOLDER, OTHER_SPELLINGS, TABLE_NAME, DESCRIPTION, UNKNOWN_LEVEL),
        *(TIMESTAMPS, ENABLED_VERSION, ENABLED_AT, ADOPTED),
    )
)
LEDGERS: Final = UUID("6a1c1f0e-7f43-5b0c-9d3e-1a4c2b9f7e55")
"""The name space of the ids of published tables."""


class Adopted(NamedTuple):
    """The id of a Delta table, and its version that became version 0 of the table."""

    id: str
    first: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what a property says; raises UnpublishableError for another text."""
        number, at, first = text.rpartition("@")
        if not at or not number or not first.isdecimal():
            raise UnpublishableError(
                f"the property {ADOPTED} must be <Delta table id>@<version>, as `lakeledger table "
                f"adopt` sets it, got {text!r}"
            )
        return cls(number, int(first))

    def text(self) -> str:
        """Return the value of the property."""
        return f"{self.id}@{self.first}"


def adopted_as(definition: TableDefinition) -> Adopted | None:
    """Return what was adopted, None for a table of the ledger alone; raises UnpublishableError."""
    text = properties(definition).get(ADOPTED)
    return None if text is None else Adopted.parse(text)


def delta_id(ledger: str, table: int) -> str:
    """Return the id of a published table: the same one whenever and wherever it is published."""
    return str(uuid5(LEDGERS, f"{ledger}/{table}"))


def metadata_action(
    definition: TableDefinition,
    widened: TypeChanges,
    *,
    id: str,  # noqa: A002 - Delta's name of the field
    created_at: int,
    first: tuple[int, int] | None,
    is_adopted: bool = False,
    features: Collection[str] = (),
) -> dict[str, Any]:
    """Return the metaData action of a definition; raises UnpublishableError.

    `first` is the first published version and its time, None for a table that is released. An
    adopted table keeps its own beginning of timestamps, if it had them before. A property that the
    ledger does not obey, or whose feature is not one of `features`, is left out.
    """
    found = properties(definition)
    kept = {key: found[key] for key in keep_promised(definition, features)}
    if UNKNOWN_LEVEL in found:
        kept[LEVEL_PROPERTY] = found[UNKNOWN_LEVEL]
    if OTHER_SPELLINGS in found:
        kept |= json.loads(found[OTHER_SPELLINGS])
    described = found.get(DESCRIPTION, "") or kept.pop(COMMENT, "")
    kept |= (own_timestamps(found) if is_adopted else {}) or timestamps(first)
    schema = schema_of(definition, widened)
    if is_mapped(definition):
        kept[HIGHEST_ID] = str(max(highest_id(definition), *ids_within(schema)))
    action: dict[str, Any] = {"id": id}
    if TABLE_NAME in found:
        action["name"] = found[TABLE_NAME]
    if described:
        action["description"] = described
    return action | {
        "format": {"provider": "parquet", "options": {}},
        "schemaString": compact(schema),
        "partitionColumns": plain_partition_columns(definition),
        "configuration": dict(sorted(kept.items())),
        "createdTime": created_at,
    }


def keep_promised(definition: TableDefinition, features: Collection[str]) -> list[str]:
    """Return the properties of a table that its log has."""
    return [
        key
        for key, value in definition.properties
        if key.lower() not in LEFT_OUT and is_promised(key, value, features)
    ]


def left_out(definition: TableDefinition) -> list[tuple[str, str]]:
    """Return the properties that no log has, since the ledger does not obey them."""
    every = [(each.key, each.value) for each in definition.properties]
    return [each for each in every if not is_promised(*each, KNOWN_FEATURES)]


def own_timestamps(found: Mapping[str, str]) -> dict[str, str]:
    """Return the properties by which a Delta table had timestamps in its commits, if it had."""
    keys = (TIMESTAMPS, ENABLED_VERSION, ENABLED_AT)
    has_them = found.get(TIMESTAMPS, "").lower() == "true"
    return {key: found[key] for key in keys if key in found} if has_them else {}


def timestamps(first: tuple[int, int] | None) -> dict[str, str]:
    """Return the properties of timestamps in commits from a first version and its time on."""
    if first is None:
        return {}
    version, at = first
    begun = {ENABLED_VERSION: str(version), ENABLED_AT: str(at)} if version else {}
    return {TIMESTAMPS: "true", **begun}
