"""The metaData action of a published table: what the import of a Delta table does, backwards."""

import json
from typing import Any, Final
from uuid import UUID, uuid5

from ledger.core.commands import LEVEL_PROPERTY, TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.delta.schema import COMMENT, DESCRIPTION, OTHER_SPELLINGS, TABLE_NAME, UNKNOWN_LEVEL
from ledger.sdk.column_mapping import HIGHEST_ID, PUBLISH, highest_id, is_mapped
from projections.delta.schema_json import TypeChanges, compact, ids_within, schema_of

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
        *(TIMESTAMPS, ENABLED_VERSION, ENABLED_AT),
    )
)
LEDGERS: Final = UUID("6a1c1f0e-7f43-5b0c-9d3e-1a4c2b9f7e55")
"""The name space of the ids of published tables."""


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
) -> dict[str, Any]:
    """Return the metaData action of a definition; raises UnpublishableError.

    `first` is the first published version and its time, None for a table that is released.
    """
    found = properties(definition)
    kept = {key: each for key, each in found.items() if key.lower() not in LEFT_OUT}
    if UNKNOWN_LEVEL in found:
        kept[LEVEL_PROPERTY] = found[UNKNOWN_LEVEL]
    if OTHER_SPELLINGS in found:
        kept |= json.loads(found[OTHER_SPELLINGS])
    described = found.get(DESCRIPTION, "") or kept.pop(COMMENT, "")
    if first is not None:
        kept[TIMESTAMPS] = "true"
        version, at = first
        if version:
            kept |= {ENABLED_VERSION: str(version), ENABLED_AT: str(at)}
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
        "partitionColumns": list(definition.partition_columns),
        "configuration": dict(sorted(kept.items())),
        "createdTime": created_at,
    }
