"""Manifests and manifest lists of any program: formats 1, 2 and 3, read with bounds.

What a file of format 1 lacks has the value that the specification gives it. An entry may leave out
its snapshot and its sequence numbers: then it has those of its manifest (`inherited`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ledger.core.limits import NUMBER_MAX
from ledger.iceberg.limits import (
    LIST_LIMITS,
    MANIFEST_LIMITS,
    IcebergFormatError,
    ReadLimits,
    json_object,
)
from ledger.iceberg.manifests.avro_files import AvroRecords
from ledger.iceberg.manifests.avro_schemas import SEQUENCES_FROM
from ledger.iceberg.manifests.rows import (
    ADDED,
    CONTENTS,
    DATA,
    DELETED,
    EQUALITY_DELETES,
    EXISTING,
    INITIAL_SEQUENCE,
    MAP_IDS,
    POSITION_DELETES,
    Content,
    FieldSummary,
    ManifestEntry,
    ManifestFile,
    ReadManifest,
)


def read_manifest(data: bytes, limits: ReadLimits = MANIFEST_LIMITS) -> ReadManifest:
    """Return a manifest of any format; raises IcebergFormatError for other or too many bytes."""
    records = AvroRecords(data, limits)
    header = records.metadata
    version = number_in(header, "format-version", 1)
    is_of_deletes = header.get("content") == "deletes"
    if is_of_deletes and version < SEQUENCES_FROM:
        raise IcebergFormatError(f"a manifest of format {version} must have data files only")
    content: Content = "deletes" if is_of_deletes else "data"
    entries = [read_entry(record, version) for record in records]
    if any((entry.content != DATA) is not (content == "deletes") for entry in entries):
        raise IcebergFormatError(f"a manifest of {content} must have files of {content} only")
    return ReadManifest(
        entries,
        number_in(header, "partition-spec-id", 0),
        spec_in(header),
        json_object("the schema of a manifest", header["schema"]) if header.get("schema") else {},
        content,
        version,
    )


def spec_in(header: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the spec in a manifest's header, empty without one; raises IcebergFormatError."""
    text = header.get("partition-spec")
    if not text:
        return {}
    found = json_object("the partition-spec of a manifest", f'{{"fields":{text}}}')
    inner = found.get("fields")
    # The header has the list of fields; some writers put the whole spec there.
    fields = inner.get("fields") if isinstance(inner, dict) else inner
    return {"spec-id": number_in(header, "partition-spec-id", 0), "fields": fields}


def number_in(header: Mapping[str, str], key: str, default: int) -> int:
    """Return a number of a header; raises IcebergFormatError for another text."""
    text = header.get(key, str(default))
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(NUMBER_MAX)):
        raise IcebergFormatError(f"{key} of a manifest must be a number, got {text[:40]!r}")
    return int(text)


def read_entry(record: Mapping[int, Any], version: int) -> ManifestEntry:
    """Return the entry of a record by ids; raises IcebergFormatError for values of other types."""
    file = record.get(2)
    if not isinstance(file, dict):
        raise IcebergFormatError("an entry of a manifest must have a file")
    status = whole(record, 0, "status", required=True)
    content = whole(file, 134, "content") or DATA
    partition = file.get(102)
    if status not in (EXISTING, ADDED, DELETED) or content not in (
        DATA,
        POSITION_DELETES,
        EQUALITY_DELETES,
    ):
        raise IcebergFormatError(f"an entry of a manifest has status {status}, content {content}")
    is_first = version < SEQUENCES_FROM
    return ManifestEntry(
        status=status or EXISTING,
        snapshot_id=signed(record, 1, "snapshot_id"),
        sequence_number=INITIAL_SEQUENCE if is_first else whole(record, 3, "sequence_number"),
        file_sequence_number=(
            INITIAL_SEQUENCE if is_first else whole(record, 4, "file_sequence_number")
        ),
        path=text_of(file, 100, "file_path"),
        record_count=whole(file, 103, "record_count", required=True) or 0,
        size=whole(file, 104, "file_size_in_bytes", required=True) or 0,
        partition=partition if isinstance(partition, dict) else {},
        content=content,
        file_format=text_of(file, 101, "file_format").upper(),
        **{field: map_in(file, number, name) for name, (number, field) in MAP_IDS.items()},
        key_metadata=file.get(131),
        split_offsets=file.get(132),
        equality_ids=file.get(135),
        sort_order_id=whole(file, 140, "sort_order_id"),
        first_row_id=whole(file, 142, "first_row_id"),
        referenced_data_file=text_of(file, 143, "referenced_data_file", required=False) or None,
        content_offset=whole(file, 144, "content_offset"),
        content_size=whole(file, 145, "content_size_in_bytes"),
    )


def signed(record: Mapping[int, Any], number: int, name: str) -> int | None:
    """Return a whole number of 64 bits, None if it is not said; raises IcebergFormatError."""
    found = record.get(number)
    if found is None:
        return None
    if type(found) is not int or not -NUMBER_MAX - 1 <= found <= NUMBER_MAX:
        raise IcebergFormatError(f"{name} must be a number of 64 bits, got {str(found)[:40]}")
    return found


def whole(
    record: Mapping[int, Any], number: int, name: str, *, required: bool = False
) -> int | None:
    """Return a number that is not negative; raises IcebergFormatError."""
    found = signed(record, number, name)
    if (found is None and required) or (found is not None and found < 0):
        raise IcebergFormatError(f"{name} must be a number from 0 on, got {found}")
    return found


def text_of(record: Mapping[int, Any], number: int, name: str, *, required: bool = True) -> str:
    """Return a text, "" if it is not said or empty and need not be; raises IcebergFormatError."""
    found = record.get(number)
    if found in (None, "") and not required:
        return ""
    if not isinstance(found, str) or not found or "\0" in found:
        raise IcebergFormatError(f"{name} must be a text, got {str(found)[:80]!r}")
    return found


def map_in(record: Mapping[int, Any], number: int, name: str) -> Mapping[int, Any] | None:
    """Return a map by ids of fields, None if it is not said; raises IcebergFormatError."""
    found = record.get(number)
    if found is None:
        return None
    wanted = bytes if name.endswith("_bounds") else int
    if not isinstance(found, dict) or any(
        type(key) is not int or type(value) is not wanted for key, value in found.items()
    ):
        raise IcebergFormatError(f"{name} must be a map by ids of fields")
    return found


def read_manifest_list(data: bytes, limits: ReadLimits = LIST_LIMITS) -> list[ManifestFile]:
    """Return the manifests in a list of any format, in its order; raises IcebergFormatError."""
    records = AvroRecords(data, limits)
    return [read_manifest_file(record) for record in records]


def read_manifest_file(record: Mapping[int, Any]) -> ManifestFile:
    """Return the manifest of a record by ids; raises IcebergFormatError."""
    content = whole(record, 517, "content") or 0
    if content >= len(CONTENTS):
        raise IcebergFormatError(f"the content of a manifest must be 0 or 1, got {content}")
    partitions = record.get(507)
    return ManifestFile(
        path=text_of(record, 500, "manifest_path"),
        length=whole(record, 501, "manifest_length", required=True) or 0,
        spec_id=whole(record, 502, "partition_spec_id", required=True) or 0,
        content=CONTENTS[content],
        sequence_number=whole(record, 515, "sequence_number") or INITIAL_SEQUENCE,
        min_sequence_number=whole(record, 516, "min_sequence_number") or INITIAL_SEQUENCE,
        added_snapshot_id=signed(record, 503, "added_snapshot_id") or 0,
        added_files=whole(record, 504, "added_files_count"),
        existing_files=whole(record, 505, "existing_files_count"),
        deleted_files=whole(record, 506, "deleted_files_count"),
        added_rows=whole(record, 512, "added_rows_count"),
        existing_rows=whole(record, 513, "existing_rows_count"),
        deleted_rows=whole(record, 514, "deleted_rows_count"),
        partitions=None if partitions is None else [read_summary(each) for each in partitions],
        key_metadata=record.get(519),
        first_row_id=row_id_of(record),
    )


def row_id_of(record: Mapping[int, Any]) -> int | None:
    """Return the first row id of a manifest; DuckDB writes any number into that of a new one."""
    found = signed(record, 520, "first_row_id")
    return None if found is None or found < 0 else found


def read_summary(record: Any) -> FieldSummary:
    """Return the summary of a record by ids; raises IcebergFormatError."""
    if not isinstance(record, dict):
        raise IcebergFormatError("a summary of partitions must be a record")
    return FieldSummary(record.get(509) is not False, *map(record.get, (518, 510, 511)))


def inherited(entries: Iterable[ManifestEntry], manifest: ManifestFile) -> list[ManifestEntry]:
    """Return the entries of a manifest with what they have of its line in the list.

    An added entry without a sequence number has the manifest's; any entry without a snapshot is of
    the manifest's. In format 3 data files without a first row id count on from the manifest's.
    Raises IcebergFormatError for an entry that must have its own sequence number and lacks it.
    """
    found, following = [], manifest.first_row_id
    for given in entries:
        entry = given
        if entry.snapshot_id is None:
            entry = entry._replace(snapshot_id=manifest.added_snapshot_id)
        is_new = entry.status == ADDED or manifest.sequence_number == INITIAL_SEQUENCE
        if entry.sequence_number is None:
            if not is_new:
                raise IcebergFormatError(f"{entry.path} must have a sequence number of its own")
            entry = entry._replace(sequence_number=manifest.sequence_number)
        if entry.file_sequence_number is None and is_new:
            entry = entry._replace(file_sequence_number=manifest.sequence_number)
        is_counted = entry.content == DATA and entry.is_live and entry.first_row_id is None
        if following is not None and is_counted:
            entry = entry._replace(first_row_id=following)
            following += entry.record_count
        found.append(entry)
    return found
