"""The Avro schemas of manifests and manifest lists, in versions 1 to 3 of Iceberg's format.

Each field has the id of the specification. Names that Avro does not take are changed as Iceberg's
own writers do it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ledger.iceberg.partition_tuples import fixed_size
from ledger.iceberg.partitioning import partition_types
from ledger.iceberg.values import scale_of

AvroType = str | dict[str, Any] | list[Any]
SEQUENCES_FROM: Final = 2
"""From this version of the format on, there are sequence numbers and files of deleted rows."""

ROW_IDS_FROM: Final = 3
"""From this version of the format on, files have row ids and deletion vectors."""

LATER_FIELDS: Final = frozenset(
    {
        *("sequence_number", "file_sequence_number", "min_sequence_number"),
        *("content", "equality_ids", "referenced_data_file"),
    }
)
"""The fields that format 1 does not have, of entries, files and manifests."""

ATOMIC: Final[Mapping[str, AvroType]] = {
    **{name: name for name in ("boolean", "int", "long", "float", "double", "string")},
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
}


def entry_schema(
    spec: Mapping[str, Any], schema: Mapping[str, Any], format_version: int
) -> dict[str, Any]:
    """Return the schema of the entries of a manifest; raises NoIcebergTypeError for an odd spec."""
    data = [
        required("content", "int", 134),
        required("file_path", "string", 100),
        required("file_format", "string", 101),
        required("partition", partition_schema(spec, schema), 102),
        required("record_count", "long", 103),
        required("file_size_in_bytes", "long", 104),
        required("block_size_in_bytes", "long", 105),
        optional("column_sizes", map_of(117, 118, "long"), 108),
        optional("value_counts", map_of(119, 120, "long"), 109),
        optional("null_value_counts", map_of(121, 122, "long"), 110),
        optional("nan_value_counts", map_of(138, 139, "long"), 137),
        optional("lower_bounds", map_of(126, 127, "bytes"), 125),
        optional("upper_bounds", map_of(129, 130, "bytes"), 128),
        optional("key_metadata", "bytes", 131),
        optional("split_offsets", {"type": "array", "items": "long", "element-id": 133}, 132),
        optional("equality_ids", {"type": "array", "items": "int", "element-id": 136}, 135),
        optional("sort_order_id", "int", 140),
    ]
    if format_version >= ROW_IDS_FROM:
        data.append(optional("first_row_id", "long", 142))
    data.append(optional("referenced_data_file", "string", 143))
    if format_version >= ROW_IDS_FROM:
        data.append(optional("content_offset", "long", 144))
        data.append(optional("content_size_in_bytes", "long", 145))
    is_first = format_version < SEQUENCES_FROM
    data = of_format(data, format_version)
    fields = [
        required("status", "int", 0),
        required("snapshot_id", "long", 1) if is_first else optional("snapshot_id", "long", 1),
        optional("sequence_number", "long", 3),
        optional("file_sequence_number", "long", 4),
        required("data_file", {"type": "record", "name": "r2", "fields": data}, 2),
    ]
    fields = of_format(fields, format_version)
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def of_format(fields: Iterable[dict[str, Any]], format_version: int) -> list[dict[str, Any]]:
    """Return the fields that a version of the format has; format 1 alone has sizes of blocks."""
    is_first = format_version < SEQUENCES_FROM
    other = LATER_FIELDS if is_first else frozenset({"block_size_in_bytes"})
    return [each for each in fields if each["name"] not in other]


def partition_schema(spec: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a spec's values."""
    fields, known = [], set[str]()
    for number, (name, kind) in partition_types(spec, schema).items():
        avro: AvroType = ATOMIC.get(kind, kind)
        if kind.startswith("decimal"):
            # Not all readers know a type by the name that an earlier field gave it.
            avro = decimal_type(kind, f"_{number}" if kind in known else "")
            known.add(kind)
        field = optional(avro_name(name), avro, number)
        fields.append(field if field["name"] == name else {**field, "iceberg-field-name": name})
    return {"type": "record", "name": "r102", "fields": fields}


def decimal_type(kind: str, ending: str) -> dict[str, Any]:
    """Return a decimal as Iceberg's writers have it: as few bytes as all its numbers need.

    `ending` makes its name another one.
    """
    precision, scale = scale_of(kind)
    return {
        "type": "fixed",
        "size": fixed_size(kind),
        "name": f"decimal_{precision}_{scale}{ending}",
        "logicalType": "decimal",
        "precision": precision,
        "scale": scale,
    }


def avro_name(name: str) -> str:
    """Return a name that Avro takes: other signs become their numbers."""
    made = [
        each if is_plain(each, at) else f"_{each}" if each.isdigit() else f"_x{ord(each):X}"
        for at, each in enumerate(name)
    ]
    return "".join(made)


def is_plain(sign: str, at: int) -> bool:
    """Tell whether a name of Avro may have a sign at a place."""
    return sign.isascii() and (sign.isalpha() or sign == "_" or (at > 0 and sign.isdigit()))


def list_schema(format_version: int) -> dict[str, Any]:
    """Return the schema of the manifests in a list."""
    summary = {
        "type": "record",
        "name": "r508",
        "fields": [
            required("contains_null", "boolean", 509),
            optional("contains_nan", "boolean", 518),
            optional("lower_bound", "bytes", 510),
            optional("upper_bound", "bytes", 511),
        ],
    }
    fields = [
        required("manifest_path", "string", 500),
        required("manifest_length", "long", 501),
        required("partition_spec_id", "int", 502),
        required("content", "int", 517),
        required("sequence_number", "long", 515),
        required("min_sequence_number", "long", 516),
        required("added_snapshot_id", "long", 503),
        required("added_files_count", "int", 504),
        required("existing_files_count", "int", 505),
        required("deleted_files_count", "int", 506),
        required("added_rows_count", "long", 512),
        required("existing_rows_count", "long", 513),
        required("deleted_rows_count", "long", 514),
        optional("partitions", {"type": "array", "items": summary, "element-id": 508}, 507),
        optional("key_metadata", "bytes", 519),
    ]
    if format_version >= ROW_IDS_FROM:
        fields.append(optional("first_row_id", "long", 520))
    fields = of_format(fields, format_version)
    return {"type": "record", "name": "manifest_file", "fields": fields}


def required(name: str, kind: AvroType, number: int) -> dict[str, Any]:
    """Return a field that every record has."""
    return {"name": name, "type": kind, "field-id": number}


def optional(name: str, kind: AvroType, number: int) -> dict[str, Any]:
    """Return a field that may be NULL."""
    return {"name": name, "type": ["null", kind], "default": None, "field-id": number}


def map_of(key: int, value: int, kind: str) -> dict[str, Any]:
    """Return a map, which Avro has as a list of pairs; `key` and `value` are ids of fields."""
    fields = [required("key", "int", key), required("value", kind, value)]
    item = {"type": "record", "name": f"k{key}_v{value}", "fields": fields}
    return {"type": "array", "logicalType": "map", "items": item}
