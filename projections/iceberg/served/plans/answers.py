"""Plans: the files of a scan, which the server lists so that a client reads no manifests.

The whole filter stays as the residual of each task: the client applies it to the rows.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from ledger.iceberg.manifests import ManifestEntry
from ledger.iceberg.partitioning import partition_types
from ledger.iceberg.values import value_in
from projections.iceberg.errors import IcebergRefusal, bad_request
from projections.iceberg.served.entries import DataEntry, DeletesEntry
from projections.iceberg.served.shapes import JSON, TableShape

EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a time without a zone
TIMES: Final = ("timestamp", "timestamptz")
KNOWN: Final = frozenset(
    {
        *("snapshot-id", "select", "filter", "case-sensitive", "use-snapshot-schema"),
        *("stats-fields", "min-rows-requested", "start-snapshot-id", "end-snapshot-id"),
    }
)

Planned = tuple[ManifestEntry, TableShape]


def snapshot_of(request: Mapping[str, Any]) -> int | None:
    """Return the snapshot that a request plans, None for the newest; raises IcebergRefusal."""
    unknown = sorted(set(request) - KNOWN)
    if unknown:
        raise bad_request(f"a plan must have known fields, got {', '.join(unknown)[:200]}")
    for name in ("start-snapshot-id", "end-snapshot-id"):
        if request.get(name) is not None:
            raise IcebergRefusal(
                406,
                "UnsupportedOperationException",
                f"the changes between snapshots are not planned here, got {name}: plan a snapshot",
            )
    found = request.get("snapshot-id")
    if found is not None and type(found) is not int:
        raise bad_request(f"snapshot-id must be a number, got {found!r}")
    return found


def plan_json(
    files: Iterable[tuple[DataEntry, Planned]],
    deletes: Iterable[tuple[DeletesEntry, Planned]],
    residual: Any,
) -> dict[str, Any]:
    """Return a whole plan of data files with their deletes."""
    places: dict[str, int] = {}
    delete_files: list[JSON] = []
    for deleted, planned in deletes:
        places[deleted.path] = len(delete_files)
        delete_files.append(deletes_json(*planned))
    tasks = []
    for entry, planned in files:
        task: dict[str, Any] = {"data-file": data_json(*planned)}
        if entry.path in places:
            task["delete-file-references"] = [places[entry.path]]
        if residual is not None:
            task["residual-filter"] = residual
        tasks.append(task)
    return {
        "status": "completed",
        "file-scan-tasks": tasks,
        "delete-files": delete_files,
        "plan-tasks": [],
    }


def file_json(entry: ManifestEntry, shape: TableShape, content: str) -> dict[str, Any]:
    """Return what data files and delete files have alike."""
    types = partition_types(shape.spec, shape.schema)
    return {
        "content": content,
        "spec-id": shape.spec["spec-id"],
        "partition": [
            json_value(entry.partition.get(number), kind) for number, (_, kind) in types.items()
        ],
        "file-path": entry.path,
        "file-format": entry.file_format.lower(),
        "file-size-in-bytes": entry.size,
        "record-count": entry.record_count,
    }


def data_json(entry: ManifestEntry, shape: TableShape) -> dict[str, Any]:
    """Return a data file."""
    made = file_json(entry, shape, "data")
    if entry.first_row_id is not None:
        made["first-row-id"] = entry.first_row_id
    return made


def deletes_json(entry: ManifestEntry, shape: TableShape) -> JSON:
    """Return a delete file."""
    made = file_json(entry, shape, "position-deletes")
    made["referenced-data-file"] = entry.referenced_data_file
    if entry.content_offset is not None:
        made["content-offset"] = entry.content_offset
        made["content-size-in-bytes"] = entry.content_size
    return made


def json_value(value: Any, kind: str) -> Any:
    """Return a value of a partition, which is in the form of Avro, as JSON has it."""
    if value is None:
        return None
    if kind == "date":
        return (EPOCH.date() + timedelta(days=value)).isoformat()
    if kind in TIMES:
        moment = EPOCH + timedelta(microseconds=value)
        return moment.replace(tzinfo=UTC if kind == "timestamptz" else None).isoformat()
    if kind.startswith("decimal"):
        found = value_in(value, kind)
        return format(found, "f") if isinstance(found, Decimal) else str(found)
    if isinstance(value, bytes):
        return value.hex().upper()
    return value.isoformat() if isinstance(value, date) else value
