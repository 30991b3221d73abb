"""A client that writes data files and manifests as the protocol says, word for word.

It keeps nothing: each commit builds on the metadata that it is given, however old.
"""

import itertools
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from ledger.client import Ledger
from ledger.core.rows.bitmaps import RowSet
from ledger.iceberg.manifests import (
    ADDED,
    DATA,
    DELETED,
    EXISTING,
    POSITION_DELETES,
    inherited,
    manifest_bytes,
    manifest_file,
    manifest_list_bytes,
    read_manifest,
    read_manifest_list,
)
from ledger.iceberg.manifests.rows import ManifestEntry, ManifestFile
from ledger.iceberg.position_deletes import position_delete_bytes
from ledger.iceberg.puffin import VectorBlob, puffin_bytes
from projections.iceberg.commits.commits import commit, create
from projections.iceberg.commits.table_changes import TableChange
from projections.iceberg.names import TableIdentifier
from projections.iceberg.served.tables import ServedTables

ARROW: Final = {"long": pa.int64(), "int": pa.int32(), "string": pa.string()}
FIELD_ID: Final = b"PARQUET:field_id"
NUMBERS: Final = itertools.count(1_000)

Json = dict[str, Any]
SCHEMA: Final[Json] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "type": "long", "required": False},
        {"id": 2, "name": "v", "type": "string", "required": False},
    ],
}


def path_in(place: str, *inner: str) -> Path:
    """Return the path of a place on this disk."""
    return Path(place.removeprefix("file://"), *inner)


class RestClient:
    """A client of one catalog, without the HTTP."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.served = ServedTables(ledger.reads, ledger.id)

    def create(self, name: str, schema: Json = SCHEMA, **more: Any) -> Json:
        """Create a table in `db`, and return its metadata."""
        body = {"name": name, "schema": schema, **more}
        return dict(create(self.ledger, self.served, ("db",), body)["metadata"])

    def load(self, name: str) -> Json:
        """Return the metadata of a table in `db`."""
        return self.served.table(self.ledger.table(f"db.{name}")).metadata()

    def commit(self, *changes: Json) -> None:
        """Send changes of tables as one commit."""
        commit(self.ledger, self.served, [TableChange.parse(each) for each in changes])

    def change(self, name: str, updates: Sequence[Json], requirements: Sequence[Json] = ()) -> Json:
        """Return the change of a table in `db`."""
        return {
            "identifier": TableIdentifier(("db",), name).form(),
            "requirements": list(requirements),
            "updates": list(updates),
        }

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table in `db` as the ledger reads them."""
        found = self.ledger.scan(f"db.{name}").to_arrow().to_pylist()
        return sorted(tuple(row.values()) for row in found)

    def append(self, name: str, metadata: Json, rows: Sequence[Json]) -> None:
        """Append rows in a new file."""
        made = Snapshot(metadata)
        made.add(rows)
        self.commit(self.change(name, made.updates("append"), made.requirements()))


class Snapshot:
    """A new snapshot of a table, on the metadata that a client has loaded."""

    def __init__(self, metadata: Json, number: int | None = None) -> None:
        self.metadata = metadata
        self.id = next(NUMBERS) if number is None else number
        self.location = metadata["location"]
        self.base = metadata.get("current-snapshot-id")
        self.added: list[ManifestEntry] = []
        self.deleted: set[str] = set()
        self.deletes: list[ManifestEntry] = []

    @property
    def schema(self) -> Json:
        """The schema of the table."""
        found = [
            each
            for each in self.metadata["schemas"]
            if each["schema-id"] == self.metadata["current-schema-id"]
        ]
        return dict(found[0])

    @property
    def spec(self) -> Json:
        """The partition spec of the table."""
        found = [
            each
            for each in self.metadata["partition-specs"]
            if each["spec-id"] == self.metadata["default-spec-id"]
        ]
        return dict(found[0])

    def add(
        self,
        rows: Sequence[Json],
        partition: Mapping[int, Any] | None = None,
        *,
        path: str = "",
        **more: Any,
    ) -> str:
        """Add a file with rows, and return its path; `more` replaces what its entry says."""
        place = path or f"{self.location}/data/{self.id}-{len(self.added)}.parquet"
        size = write_rows(place, self.schema, rows)
        entry = ManifestEntry(
            ADDED, None, None, None, place, len(rows), size, dict(partition or {}), DATA
        )
        self.added.append(entry._replace(**more))
        return place

    def delete_file(self, path: str) -> None:
        """Remove a data file of the base."""
        self.deleted.add(path)

    def delete_rows(self, path: str, rows: RowSet, *, old: str = "") -> str:
        """Delete rows of a file by a file of position deletes, and undo the one at `old`."""
        place = f"{self.location}/data/{self.id}-deletes-{len(self.deletes)}.parquet"
        data = position_delete_bytes(path, rows)
        put(place, data)
        self.deletes.append(
            ManifestEntry(
                ADDED, None, None, None, place, len(rows), len(data), {}, POSITION_DELETES
            )
        )
        if old:
            self.deleted.add(old)
        return place

    def delete_by_vector(self, path: str, rows: RowSet, *, old: str = "") -> str:
        """Delete rows of a file by a vector, which replaces the one in the file `old`."""
        place = f"{self.location}/data/{self.id}-vector-{len(self.deletes)}.puffin"
        data, places = puffin_bytes([VectorBlob(path, rows)])
        put(place, data)
        self.deletes.append(
            ManifestEntry(
                *(ADDED, None, None, None, place, len(rows), len(data), {}, POSITION_DELETES),
                file_format="PUFFIN",
                referenced_data_file=path,
                content_offset=places[0].offset,
                content_size=places[0].length,
            )
        )
        if old:
            self.deleted.add(old)
        return place

    def listed(self) -> list[ManifestFile]:
        """Return the manifests of the base."""
        found = [each for each in self.metadata["snapshots"] if each["snapshot-id"] == self.base]
        return read_manifest_list(path_in(found[0]["manifest-list"]).read_bytes()) if found else []

    def live(self, content: str = "data") -> list[ManifestEntry]:
        """Return the live entries of the base."""
        return [
            entry
            for named in self.listed()
            if named.content == content
            for entry in entries_of(named)
            if entry.is_live
        ]

    def manifests(self) -> list[ManifestFile]:
        """Write the manifests of the snapshot, and return all that it lists."""
        kept: list[ManifestFile] = []
        again: list[tuple[str, list[ManifestEntry]]] = []
        for named in self.listed():
            entries = [each for each in entries_of(named) if each.is_live]
            if any(each.path in self.deleted for each in entries):
                again.append((named.content, [self.carried(each) for each in entries]))
            elif entries:
                kept.append(named)
        again += [("data", self.added), ("deletes", self.deletes)]
        return [*kept, *(self.written(*each) for each in again if each[1])]

    def carried(self, entry: ManifestEntry) -> ManifestEntry:
        """Return an entry of the base in a manifest that is written anew."""
        if entry.path in self.deleted:
            return entry._replace(status=DELETED, snapshot_id=self.id)
        return entry._replace(status=EXISTING)

    def written(self, content: Any, entries: Sequence[ManifestEntry]) -> ManifestFile:
        """Write one manifest."""
        place = f"{self.location}/metadata/{self.id}-m{next(NUMBERS)}.avro"
        version = self.metadata["format-version"]
        if version == 1:
            entries = [each._replace(snapshot_id=each.snapshot_id or self.id) for each in entries]
        data = manifest_bytes(entries, self.spec, self.schema, content, version)
        put(place, data)
        sequence = self.metadata.get("last-sequence-number", 0) + 1
        return manifest_file(
            place,
            data,
            entries,
            spec=self.spec,
            schema=self.schema,
            content=content,
            snapshot_id=self.id,
            sequence_number=sequence,
        )

    def form(self, operation: str, manifests: Sequence[ManifestFile] | None = None) -> Json:
        """Write the manifest list, and return the snapshot."""
        place = f"{self.location}/metadata/snap-{self.id}.avro"
        listed = self.manifests() if manifests is None else manifests
        sequence = self.metadata.get("last-sequence-number", 0) + 1
        data = manifest_list_bytes(
            listed,
            snapshot_id=self.id,
            parent_snapshot_id=self.base,
            sequence_number=sequence,
            format_version=self.metadata["format-version"],
        )
        put(place, data)
        made = {
            "snapshot-id": self.id,
            "sequence-number": sequence,
            "timestamp-ms": 1_800_000_000_000,
            "manifest-list": place,
            "summary": {"operation": operation, "engine": "test"},
            "schema-id": self.metadata["current-schema-id"],
        }
        return made if self.base is None else {**made, "parent-snapshot-id": self.base}

    def updates(
        self, operation: str, manifests: Sequence[ManifestFile] | None = None
    ) -> list[Json]:
        """Return the updates of a commit with this snapshot."""
        made = self.form(operation, manifests)
        return [{"action": "add-snapshot", "snapshot": made}, shown(self.id)]

    def requirements(self) -> list[Json]:
        """Return what the commit takes for granted."""
        return [
            {"type": "assert-table-uuid", "uuid": self.metadata["table-uuid"]},
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": self.base},
        ]


def put(place: str, data: bytes) -> None:
    """Write a file, with its folders."""
    path_in(place).parent.mkdir(parents=True, exist_ok=True)
    path_in(place).write_bytes(data)


def shown(number: int) -> Json:
    """Return the update by which the main branch shows a snapshot."""
    return {
        "action": "set-snapshot-ref",
        "ref-name": "main",
        "type": "branch",
        "snapshot-id": number,
    }


def entries_of(named: ManifestFile) -> list[ManifestEntry]:
    """Read a manifest; each entry has its snapshot and sequence number."""
    return inherited(read_manifest(path_in(named.path).read_bytes()).entries, named)


def write_rows(place: str, schema: Json, rows: Sequence[Json]) -> int:
    """Write rows into a data file with the ids of a schema, and return its bytes."""
    fields = [
        pa.field(each["name"], ARROW[each["type"]], metadata={FIELD_ID: str(each["id"])})
        for each in schema["fields"]
    ]
    table = pa.Table.from_pylist(list(rows), pa.schema(fields))
    stream = BytesIO()
    pq.write_table(table, stream)
    put(place, stream.getvalue())
    return path_in(place).stat().st_size
