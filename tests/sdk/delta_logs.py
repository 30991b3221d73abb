"""Small Delta logs, written by tests action by action."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ledger.core.commands import Footprint
from ledger.core.events.events import TxnCommitted, WritesStaged
from ledger.log.replay import Replay
from ledger.testing import InMemoryLedger

Action = Mapping[str, Any]

TABLE_ID = "5f7c2c1e-0000-4000-8000-000000000001"
FIELDS = (("day", "date"), ("id", "long"))
PROTOCOL: Action = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}


def schema(*fields: tuple[str, Any], **metadata: Mapping[str, Any]) -> str:
    """Return the text of a schema; `metadata` is by field."""
    return json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": metadata.get(name, {})}
                for name, kind in fields
            ],
        }
    )


def metadata(
    text: str | None = None, *, partitioned: Sequence[str] = (), table: str = TABLE_ID, **rest: Any
) -> Action:
    """Return a metaData action; `rest` are table properties, with `_` for a dot."""
    return {
        "metaData": {
            "id": table,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema(*FIELDS) if text is None else text,
            "partitionColumns": list(partitioned),
            "configuration": {key.replace("_", "."): value for key, value in rest.items()},
        }
    }


def add(path: str, **rest: Any) -> Action:
    fields = {"path": path, "partitionValues": {}, "size": 10, "modificationTime": 5}
    return {"add": {**fields, "dataChange": True, **rest}}


def remove(path: str, **rest: Any) -> Action:
    return {"remove": {"path": path, "deletionTimestamp": 9, "dataChange": True, **rest}}


def info(operation: str = "WRITE", *, blind: bool = True, **rest: Any) -> Action:
    return {"commitInfo": {"operation": operation, "isBlindAppend": blind, **rest}}


def begin(**rest: Any) -> list[Action]:
    """Return the actions of a first version; as `metadata`."""
    return [info("CREATE TABLE"), PROTOCOL, metadata(**rest)]


def write_version(table: Path, version: int, actions: Sequence[Action | str]) -> Path:
    """Write the file of one version, texts as they are, and return it."""
    lines = [action if isinstance(action, str) else json.dumps(action) for action in actions]
    return write_file(table, f"{version:020}.json", "\n".join(lines) + "\n")


def write_file(table: Path, name: str, text: str) -> Path:
    path = table / "_delta_log" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def write_log(table: Path, *versions: Sequence[Action | str], first: int = 0) -> Path:
    """Write a whole log and return the folder of the table."""
    for version, actions in enumerate(versions, start=first):
        write_version(table, version, actions)
    return table


MAPS = pa.map_(pa.string(), pa.string())
CHECKPOINT = pa.schema(
    {
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": MAPS,
            }
        ),
        "add": pa.struct(
            {
                "path": pa.string(),
                "partitionValues": MAPS,
                "size": pa.int64(),
                "dataChange": pa.bool_(),
                "stats": pa.string(),
                "stats_parsed": pa.struct(
                    {
                        "numRecords": pa.int64(),
                        "minValues": pa.struct({"id": pa.decimal128(5, 2), "day": pa.date32()}),
                        "maxValues": pa.struct({"at": pa.timestamp("ms", "UTC")}),
                    }
                ),
            }
        ),
        "txn": pa.struct({"appId": pa.string(), "version": pa.int64()}),
        "remove": pa.struct({"path": pa.string()}),
        "sidecar": pa.struct({"path": pa.string()}),
        "checkpointMetadata": pa.struct({"version": pa.int64()}),
    }
)


def write_checkpoint(table: Path, name: str, actions: Sequence[Action]) -> Path:
    """Write a Parquet file of a checkpoint, or a sidecar, and return it."""
    path = table / "_delta_log" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(list(actions), CHECKPOINT), path)
    return path


def commits(memory: InMemoryLedger) -> list[tuple[int, Footprint]]:
    """Return the position and footprint of every commit so far."""
    return [
        (control.position, body.parts[0].footprint)
        for control, body in Replay(memory.log)
        if isinstance(body, TxnCommitted) and body.parts[0].footprint is not None
    ]


def staged(memory: InMemoryLedger) -> Iterator[Footprint]:
    bodies = (body for _, body in Replay(memory.log))
    return (body.footprint for body in bodies if isinstance(body, WritesStaged))
