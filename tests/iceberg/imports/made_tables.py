"""Iceberg metadata made by hand: formats and deletes that pyiceberg does not write."""

import json
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ledger.iceberg.manifests import (
    ADDED,
    EQUALITY_DELETES,
    POSITION_DELETES,
    ManifestEntry,
    ManifestFile,
    manifest_bytes,
    manifest_file,
    manifest_list_bytes,
)

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SPEC: Mapping[str, Any] = {"spec-id": 0, "fields": []}


def field(number: int, name: str, kind: Any = "long", **more: Any) -> dict[str, Any]:
    """Return a field of a schema."""
    return {"id": number, "name": name, "required": False, "type": kind, **more}


class MadeTable:
    """A table whose files, manifests and metadata are made one by one."""

    def __init__(self, folder: Path, fields: Sequence[Any] = (), form: int = 3) -> None:
        self.folder = folder
        (folder / "data").mkdir(parents=True)
        (folder / "metadata").mkdir()
        self.form = form
        self.schema: dict[str, Any] = {
            "type": "struct",
            "schema-id": 0,
            "fields": [*(fields or [field(1, "id")])],
        }
        self.manifests: list[ManifestFile] = []
        self.snapshots: list[dict[str, Any]] = []
        self.more: dict[str, Any] = {}
        self._numbers = count(1)
        self._rows = 0

    @property
    def location(self) -> str:
        return self.folder.as_uri()

    def place(self, name: str) -> str:
        return f"{self.location}/{name}"

    def put(self, name: str, data: bytes) -> str:
        """Write a file, and return its place."""
        (self.folder / name).write_bytes(data)
        return self.place(name)

    def data(self, table: Any, *, ids: bool = True) -> ManifestEntry:
        """Write a data file, and return its entry."""
        name = f"data/{next(self._numbers)}.parquet"
        if ids:
            numbers = {each["name"]: each["id"] for each in self.schema["fields"]}
            table = table.cast(
                pa.schema(
                    [
                        each.with_metadata({"PARQUET:field_id": str(numbers[each.name])})
                        for each in table.schema
                    ]
                )
            )
        pq.write_table(table, self.folder / name, store_schema=False)
        return self.entry(name, len(table))

    def entry(self, name: str, rows: int, **more: Any) -> ManifestEntry:
        """Return the entry of a new file."""
        size = (self.folder / name).stat().st_size if (self.folder / name).exists() else 1
        return ManifestEntry(ADDED, None, None, None, self.place(name), rows, size, **more)

    def deletes(self, name: str, data: bytes, rows: int, **more: Any) -> ManifestEntry:
        """Write a file of deletes, and return its entry."""
        self.put(name, data)
        return self.entry(name, rows, content=POSITION_DELETES, **more)

    def equality_deletes(self) -> ManifestEntry:
        """Return the entry of a file of equality deletes."""
        name = "data/equal.parquet"
        self.put(name, b"")
        return self.entry(name, 1, content=EQUALITY_DELETES, equality_ids=[1])

    def commit(
        self, *entries: ManifestEntry, operation: str = "append", kept: Sequence[Any] | None = None
    ) -> int:
        """Add a snapshot with new files; return its id. `kept` are the manifests that stay."""
        number = len(self.snapshots) + 1
        manifests = list(self.manifests if kept is None else kept)
        for content in ("data", "deletes"):
            some = [each for each in entries if (each.content != 0) is (content == "deletes")]
            if some:
                manifests.append(self.manifest(some, content, number))
        self.manifests = manifests
        data = manifest_list_bytes(
            manifests,
            snapshot_id=number,
            parent_snapshot_id=number - 1 or None,
            sequence_number=number,
            format_version=max(self.form, 2),
            first_row_id=0,
        )
        self.snapshots.append(
            {
                "snapshot-id": number,
                "parent-snapshot-id": number - 1 or None,
                "sequence-number": number,
                "timestamp-ms": 1_700_000_000_000 + number,
                "manifest-list": self.put(f"metadata/snap-{number}.avro", data),
                "summary": {"operation": operation},
                "schema-id": 0,
                "first-row-id": 0,
                "added-rows": 0,
            }
        )
        return number

    def manifest(self, entries: Sequence[ManifestEntry], content: Any, number: int) -> ManifestFile:
        """Write a manifest, and return its line in a list."""
        form = max(self.form, 2)
        data = manifest_bytes(entries, SPEC, self.schema, content, form)
        place = self.put(f"metadata/{number}-{content}-{len(self.manifests)}.avro", data)
        first_row_id = self._rows if form > 2 and content == "data" else None
        self._rows += sum(each.record_count for each in entries)
        return manifest_file(
            place,
            data,
            entries,
            spec=SPEC,
            schema=self.schema,
            content=content,
            snapshot_id=number,
            sequence_number=number,
            first_row_id=first_row_id,
        )

    def metadata(self) -> dict[str, Any]:
        """Return the metadata as it is now."""
        made: dict[str, Any] = {
            "format-version": self.form,
            "table-uuid": str(uuid4()),
            "location": self.location,
            "last-sequence-number": len(self.snapshots),
            "last-updated-ms": 1_700_000_000_000 + len(self.snapshots),
            "last-column-id": 100,
            "current-schema-id": 0,
            "schemas": [self.schema],
            "default-spec-id": 0,
            "partition-specs": [SPEC],
            "last-partition-id": 999,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "snapshots": self.snapshots,
            "refs": {},
            "next-row-id": self._rows,
        }
        if self.snapshots:
            newest = self.snapshots[-1]["snapshot-id"]
            made["current-snapshot-id"] = newest
            made["refs"] = {"main": {"snapshot-id": newest, "type": "branch"}}
        return {**made, **self.more}

    def write(self) -> str:
        """Write the metadata, and return its place."""
        data = json.dumps(self.metadata()).encode()
        return self.put(f"metadata/v{next(self._numbers)}.metadata.json", data)
