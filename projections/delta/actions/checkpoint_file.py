"""Checkpoints of a published log: the whole state at a version, as one Parquet file.

Tombstones are left out: they serve cleaning only, and the ledger cleans by its own marks.
"""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from projections.delta.actions.file_actions import Action
from projections.delta.actions.schema_json import compact

TEXTS: Final = pa.map_(pa.string(), pa.string())
VECTOR: Final = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
FILE: Final = (
    ("path", pa.string()),
    ("partitionValues", TEXTS),
    ("size", pa.int64()),
    ("dataChange", pa.bool_()),
    ("tags", TEXTS),
    ("deletionVector", VECTOR),
    ("baseRowId", pa.int64()),
    ("defaultRowCommitVersion", pa.int64()),
)
SCHEMA: Final = pa.schema(
    [
        (
            "txn",
            pa.struct(
                [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
            ),
        ),
        ("add", pa.struct([*FILE, ("modificationTime", pa.int64()), ("stats", pa.string())])),
        (
            "remove",
            pa.struct(
                [*FILE, ("deletionTimestamp", pa.int64()), ("extendedFileMetadata", pa.bool_())]
            ),
        ),
        (
            "metaData",
            pa.struct(
                [
                    ("id", pa.string()),
                    ("name", pa.string()),
                    ("description", pa.string()),
                    ("format", pa.struct([("provider", pa.string()), ("options", TEXTS)])),
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", TEXTS),
                    ("createdTime", pa.int64()),
                ]
            ),
        ),
        (
            "protocol",
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                    ("writerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
        (
            "domainMetadata",
            pa.struct(
                [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
            ),
        ),
    ]
)


def checkpoint_bytes(actions: Sequence[Action]) -> bytes:
    """Return the Parquet file of a checkpoint with these actions."""
    rows = [
        {name: of_type(fields, SCHEMA.field(name).type)}
        for (name, fields) in split_actions(actions)
    ]
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), sink, compression="snappy")
    return bytes(sink.getvalue())


def protocols_in(data: bytes) -> list[dict[str, Any]]:
    """Return the protocol actions in the Parquet file of a checkpoint; raises ValueError."""
    found = parquet.read_table(pa.BufferReader(data), columns=["protocol"])["protocol"]
    return [each for each in found.drop_null().to_pylist() if each]


def split_actions(actions: Sequence[Action]) -> list[tuple[str, Any]]:
    """Return the name and the fields of each action."""
    return [next(iter(action.items())) for action in actions]


def of_type(found: Any, kind: pa.DataType) -> Any:
    """Return a value of an action as Arrow takes it: maps are lists of pairs."""
    if pa.types.is_map(kind):
        return None if found is None else list(found.items())
    if pa.types.is_struct(kind) and found is not None:
        return {each.name: of_type(found.get(each.name), each.type) for each in kind}
    return found


def hint_bytes(version: int, actions: int, size: int) -> bytes:
    """Return the content of the file `_last_checkpoint`."""
    return compact({"version": version, "size": actions, "sizeInBytes": size}).encode()
