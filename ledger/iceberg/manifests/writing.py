"""Manifests and manifest lists as bytes: a function of what they say, in format 1, 2 or 3."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any, Final

from ledger.iceberg.manifests.avro_files import avro_bytes, compact
from ledger.iceberg.manifests.avro_schemas import (
    ROW_IDS_FROM,
    SEQUENCES_FROM,
    entry_schema,
    list_schema,
)
from ledger.iceberg.manifests.rows import (
    ADDED,
    CONTENTS,
    DELETED,
    EXISTING,
    FILE_FIELDS,
    LIST_FIELDS,
    MAPS,
    Content,
    FieldSummary,
    ManifestEntry,
    ManifestFile,
)
from ledger.iceberg.partitioning import partition_types
from ledger.iceberg.values import packed, value_in

BLOCK_BYTES: Final = 64 << 20


def manifest_bytes(
    entries: Iterable[ManifestEntry],
    spec: Mapping[str, Any],
    schema: Mapping[str, Any],
    content: Content,
    format_version: int,
) -> bytes:
    """Return a manifest of format 1, 2 or 3: equal arguments give equal bytes.

    The values of partitions must have the types that `schema` gives to `spec`. Raises ValueError
    for entries of another form.
    """
    metadata = {
        "schema": compact(schema),
        "schema-id": str(schema.get("schema-id", 0)),
        "partition-spec": compact(spec["fields"]),
        "partition-spec-id": str(spec["spec-id"]),
        "format-version": str(format_version),
    }
    if format_version >= SEQUENCES_FROM:
        metadata["content"] = content
    avro = entry_schema(spec, schema, format_version)
    names = [field["name"] for field in partition_fields(avro)]
    numbers = [field["field-id"] for field in partition_fields(avro)]
    places = dict(zip(numbers, names, strict=True))
    return avro_bytes(avro, (entry_record(each, places) for each in entries), metadata)


def partition_fields(avro: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the fields of the partition in the schema of entries."""
    data = next(each["type"] for each in avro["fields"] if each["name"] == "data_file")
    partition = next(each["type"] for each in data["fields"] if each["name"] == "partition")
    return list(partition["fields"])


def entry_record(entry: ManifestEntry, places: Mapping[int, str]) -> dict[str, Any]:
    """Return an entry as its record; `places` has the names of partition fields by their ids."""
    file = {
        name: mapped(getattr(entry, field)) if name in MAPS else getattr(entry, field)
        for name, field in FILE_FIELDS.items()
    }
    # Format 1 must have a size of blocks, which its writers give as one number for every file.
    file["block_size_in_bytes"] = BLOCK_BYTES
    file["partition"] = {name: entry.partition.get(number) for number, name in places.items()}
    return {
        "status": entry.status,
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.file_sequence_number,
        "data_file": file,
    }


def mapped(found: Mapping[int, Any] | None) -> list[dict[str, Any]] | None:
    """Return a map as pairs in ascending order."""
    if found is None:
        return None
    return [{"key": key, "value": found[key]} for key in sorted(found)]


def manifest_file(
    path: str,
    data: bytes,
    entries: Sequence[ManifestEntry],
    *,
    spec: Mapping[str, Any],
    schema: Mapping[str, Any],
    content: Content,
    snapshot_id: int,
    sequence_number: int,
    first_row_id: int | None = None,
) -> ManifestFile:
    """Return the line of a manifest in a list: its counts, and the bounds of its partitions.

    `snapshot_id` and `sequence_number` are of the snapshot that added the manifest.
    """
    counts = [0, 0, 0]
    rows = [0, 0, 0]
    lowest = sequence_number
    for entry in entries:
        counts[entry.status] += 1
        rows[entry.status] += entry.record_count
        if entry.is_live and entry.sequence_number is not None:
            lowest = min(lowest, entry.sequence_number)
    return ManifestFile(
        path,
        len(data),
        spec["spec-id"],
        content,
        sequence_number,
        lowest,
        snapshot_id,
        counts[ADDED],
        counts[EXISTING],
        counts[DELETED],
        rows[ADDED],
        rows[EXISTING],
        rows[DELETED],
        summaries(entries, spec, schema),
        None,
        first_row_id,
    )


def summaries(
    entries: Sequence[ManifestEntry], spec: Mapping[str, Any], schema: Mapping[str, Any]
) -> list[FieldSummary]:
    """Return what each partition field has in the files of a manifest."""
    types = partition_types(spec, schema)
    return [
        field_summary([entry.partition.get(number) for entry in entries], kind)
        for number, (_, kind) in types.items()
    ]


def field_summary(values: Sequence[Any], kind: str) -> FieldSummary:
    """Return what is to be said of the values of a partition field."""
    known = [value for value in values if value is not None]
    nan = [value for value in known if isinstance(value, float) and isnan(value)]
    is_floating = kind in ("float", "double")
    numbers = [value for value in known if value not in nan] if nan else known
    if kind.startswith("decimal"):
        numbers = [value_in(value, kind) for value in numbers]
    has_null = len(known) < len(values)
    if not numbers:
        return FieldSummary(has_null, bool(nan) if is_floating else False)
    low, high = min(numbers), max(numbers)
    return FieldSummary(
        has_null, bool(nan), partition_bound(low, kind), partition_bound(high, kind)
    )


def partition_bound(value: Any, kind: str) -> bytes | None:
    """Return the bytes of a partition value in the form of Avro, None if there are none."""
    plain = {"date": "int", "timestamp": "long", "timestamptz": "long"}.get(kind, kind)
    return packed(value, plain)


def manifest_list_bytes(
    manifests: Iterable[ManifestFile],
    *,
    snapshot_id: int,
    parent_snapshot_id: int | None,
    sequence_number: int,
    format_version: int,
    first_row_id: int | None = None,
) -> bytes:
    """Return a manifest list of format 1, 2 or 3: equal arguments give equal bytes.

    `first_row_id` is the snapshot's, in format 3.
    """
    metadata = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_snapshot_id is None else str(parent_snapshot_id),
        "format-version": str(format_version),
    }
    if format_version >= SEQUENCES_FROM:
        metadata["sequence-number"] = str(sequence_number)
    if format_version >= ROW_IDS_FROM:
        metadata["first-row-id"] = str(first_row_id or 0)
    records = (list_record(each) for each in manifests)
    return avro_bytes(list_schema(format_version), records, metadata)


def list_record(manifest: ManifestFile) -> dict[str, Any]:
    """Return a manifest as its record in a list."""
    made = {name: getattr(manifest, field) for name, field in LIST_FIELDS.items()}
    made["content"] = CONTENTS.index(manifest.content)
    if manifest.partitions is not None:
        made["partitions"] = [each._asdict() for each in manifest.partitions]
    return made
