"""Reports of an Iceberg import, and the marks by which versions know their snapshots."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.iceberg.table_metadata import IcebergMetadata, IcebergSnapshot
from ledger.reads.port import AppRow

SNAPSHOT_NOTE: Final = "iceberg"
"""Under this key the info of a version has the id, the operation and the summary of a snapshot."""

PROGRESS_NOTE: Final = "iceberg-import"
"""Under this key the info of an imported version says how far the Iceberg table was read."""

ICEBERG_APPS: Final = f"{IMPORT_APPS}iceberg/"
"""The application of an import is this and the uuid of the Iceberg table."""


class ImportedSnapshots(NamedTuple):
    """How far an Iceberg table was read.

    `snapshot` is the snapshot shown, None before the first. `sequence` and `updated_ms` are of the
    `metadata` file that was read last.
    """

    snapshot: int | None
    sequence: int
    updated_ms: int
    metadata: str


NOT_BEGUN: Final = ImportedSnapshots(None, 0, 0, "")


class IcebergImportReport(NamedTuple):
    """The state of an imported Iceberg table, and the work of this import.

    `snapshot` is the newest one imported, None for a table without any; the table shows it at its
    `version`, at `position`. `versions` counts what was committed now. `passed_over` are snapshots
    before the beginning of the import, with the reason. `left_out` is what the ledger's table does
    not keep of the Iceberg table, with the reason; no row depends on it.
    """

    table: int
    name: str
    uuid: str
    snapshot: int | None
    version: int
    position: int
    versions: int
    passed_over: Mapping[str, str]
    left_out: Mapping[str, str]

    def fields(self) -> dict[str, Any]:
        """Return the report as JSON shows it; an id of a snapshot is a text there."""
        shown = None if self.snapshot is None else str(self.snapshot)
        return {**self._asdict(), "snapshot": shown}


def info_of(
    metadata: IcebergMetadata, file: str, shown: int | None, snapshot: IcebergSnapshot | None
) -> str:
    """Return the info of a version: `shown` is the table's snapshot then.

    `snapshot` is the one that the version is made from, None for a change of the definition alone.
    """
    progress = ImportedSnapshots(shown, metadata.sequence, metadata.updated_ms, file)
    found: dict[str, Any] = {PROGRESS_NOTE: progress._asdict()}
    if snapshot is not None:
        found["timestamp"] = snapshot.at_ms
        found[SNAPSHOT_NOTE] = {
            "snapshot-id": snapshot.id,
            "operation": snapshot.operation or "append",
            "summary": {key: text for key, text in snapshot.summary.items() if key != "operation"},
        }
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def progress_in(info: str) -> ImportedSnapshots | None:
    """Return how far the import was that committed a version, None for another version."""
    try:
        found = json.loads(info)[PROGRESS_NOTE] if info else None
        return None if found is None else ImportedSnapshots(**found)
    except (ValueError, KeyError, TypeError):
        return None


def import_app(apps: Sequence[AppRow]) -> AppRow | None:
    """Return the progress of an Iceberg import among that of a table's applications."""
    return next((row for row in apps if row.app.startswith(ICEBERG_APPS)), None)
