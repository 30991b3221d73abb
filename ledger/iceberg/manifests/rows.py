"""What manifests and their lists say: a file, a manifest, and the values of a partition field.

The last two parts map the names of Avro to the fields here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

Content = Literal["data", "deletes"]
"""What the files of a manifest hold: rows, or deletes of rows."""

EXISTING: Final = 0
ADDED: Final = 1
DELETED: Final = 2

DATA: Final = 0
POSITION_DELETES: Final = 1
EQUALITY_DELETES: Final = 2

CONTENTS: Final[Sequence[Content]] = ("data", "deletes")
INITIAL_SEQUENCE: Final = 0

ByField = Mapping[int, int]
Bounds = Mapping[int, bytes]


class ManifestEntry(NamedTuple):
    """A file in a manifest. Maps are by the ids of fields; None = not said.

    `status` is EXISTING, ADDED or DELETED, `content` DATA, POSITION_DELETES or EQUALITY_DELETES.
    `partition` has the values of the spec by the ids of its fields, in the form of Avro
    (`partition_tuples`). `size` is in bytes. The last four fields are those of deletes and of
    format 3.
    """

    status: int
    snapshot_id: int | None
    sequence_number: int | None
    file_sequence_number: int | None
    path: str
    record_count: int
    size: int
    partition: Mapping[int, Any] = {}
    content: int = DATA
    file_format: str = "PARQUET"
    column_sizes: ByField | None = None
    value_counts: ByField | None = None
    null_value_counts: ByField | None = None
    nan_value_counts: ByField | None = None
    lower_bounds: Bounds | None = None
    upper_bounds: Bounds | None = None
    key_metadata: bytes | None = None
    split_offsets: Sequence[int] | None = None
    equality_ids: Sequence[int] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size: int | None = None

    @property
    def is_live(self) -> bool:
        """Whether the file belongs to the snapshot."""
        return self.status != DELETED


class FieldSummary(NamedTuple):
    """The values of one partition field in the files of a manifest; None = not known."""

    contains_null: bool
    contains_nan: bool | None = None
    lower_bound: bytes | None = None
    upper_bound: bytes | None = None


class ManifestFile(NamedTuple):
    """A manifest in a list; counts are of files and of their rows, None = not said (format 1)."""

    path: str
    length: int
    spec_id: int
    content: Content
    sequence_number: int
    min_sequence_number: int
    added_snapshot_id: int
    added_files: int | None
    existing_files: int | None
    deleted_files: int | None
    added_rows: int | None
    existing_rows: int | None
    deleted_rows: int | None
    partitions: Sequence[FieldSummary] | None = None
    key_metadata: bytes | None = None
    first_row_id: int | None = None


class ReadManifest(NamedTuple):
    """A manifest that was read. `spec` and `schema` are JSON of its header, empty if it has none.

    An entry may have None for what it has of its manifest.
    """

    entries: Sequence[ManifestEntry]
    spec_id: int
    spec: Mapping[str, Any]
    schema: Mapping[str, Any]
    content: Content
    format_version: int


MAP_IDS: Final[Mapping[str, tuple[int, str]]] = {
    "column_sizes": (108, "column_sizes"),
    "value_counts": (109, "value_counts"),
    "null_value_counts": (110, "null_value_counts"),
    "nan_value_counts": (137, "nan_value_counts"),
    "lower_bounds": (125, "lower_bounds"),
    "upper_bounds": (128, "upper_bounds"),
}
MAPS: Final = frozenset(MAP_IDS)
FILE_FIELDS: Final[Mapping[str, str]] = {
    "content": "content",
    "file_path": "path",
    "file_format": "file_format",
    "record_count": "record_count",
    "file_size_in_bytes": "size",
    **{name: field for name, (_, field) in MAP_IDS.items()},
    "key_metadata": "key_metadata",
    "split_offsets": "split_offsets",
    "equality_ids": "equality_ids",
    "sort_order_id": "sort_order_id",
    "first_row_id": "first_row_id",
    "referenced_data_file": "referenced_data_file",
    "content_offset": "content_offset",
    "content_size_in_bytes": "content_size",
}
"""The fields of a file in Avro, and of an entry here."""

LIST_FIELDS: Final[Mapping[str, str]] = {
    "manifest_path": "path",
    "manifest_length": "length",
    "partition_spec_id": "spec_id",
    "sequence_number": "sequence_number",
    "min_sequence_number": "min_sequence_number",
    "added_snapshot_id": "added_snapshot_id",
    "added_files_count": "added_files",
    "existing_files_count": "existing_files",
    "deleted_files_count": "deleted_files",
    "added_rows_count": "added_rows",
    "existing_rows_count": "existing_rows",
    "deleted_rows_count": "deleted_rows",
    "key_metadata": "key_metadata",
    "first_row_id": "first_row_id",
    "partitions": "partitions",
}
"""The fields of a manifest in Avro, and of a line here."""
