"""An Iceberg table on a disk, made of the forms alone, and what other readers see in it."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

from ledger.arrow.schema import TableSchema
from ledger.core.commands import TableDefinition
from ledger.core.rows.bitmaps import RowSet
from ledger.files.statistics import FileStatistics
from ledger.iceberg.manifests import (
    ADDED,
    POSITION_DELETES,
    Content,
    ManifestEntry,
    ManifestFile,
    manifest_bytes,
    manifest_file,
    manifest_list_bytes,
)
from ledger.iceberg.partition_tuples import tuple_of
from ledger.iceberg.partitioning import spec_json
from ledger.iceberg.position_deletes import delete_bounds, position_delete_bytes
from ledger.iceberg.puffin import VectorBlob, puffin_bytes
from ledger.iceberg.schemas import highest_in, schema_json
from ledger.iceberg.sort_orders import order_json
from ledger.iceberg.statistics import metrics_of

SNAPSHOT: Final = 7_000_000_000_000_000_007
SEQUENCE: Final = 3


class DataFile(NamedTuple):
    """Rows of one data file, its partition as texts of the log, and the rows deleted in it."""

    rows: pa.Table
    partition: tuple[str | None, ...] = ()
    deleted: RowSet | None = None


class DiskTable:
    """A table of one snapshot in a folder; `metadata` is the path of its metadata file."""

    def __init__(self, folder: Path, definition: TableDefinition, version: int) -> None:
        self._folder, self._definition, self._version = folder, definition, version
        self.schema = schema_json(definition, 0)
        self.spec = spec_json(definition, 0)
        self.metadata = folder / "metadata" / "v1.metadata.json"
        (folder / "metadata").mkdir(parents=True)
        (folder / "data").mkdir()

    def write(self, files: Sequence[DataFile]) -> None:
        """Write all files of the table."""
        entries = [self._data_entry(at, each) for at, each in enumerate(files)]
        deletes = [
            self._delete_entry(entry, each.deleted)
            for entry, each in zip(entries, files, strict=True)
            if each.deleted
        ]
        lines = [self._manifest("data", entries)]
        if deletes:
            lines.append(self._manifest("deletes", deletes))
        listed = self._folder / "metadata" / "snap.avro"
        listed.write_bytes(
            manifest_list_bytes(
                lines,
                snapshot_id=SNAPSHOT,
                parent_snapshot_id=None,
                sequence_number=SEQUENCE,
                format_version=self._version,
                first_row_id=0,
            )
        )
        rows = sum(len(each.rows) for each in files)
        self.metadata.write_text(json.dumps(self._metadata(str(listed), rows)))

    def _data_entry(self, at: int, file: DataFile) -> ManifestEntry:
        stored = TableSchema.of(self._definition).stored
        path = self._folder / "data" / f"{at}.parquet"
        rows = file.rows.select(stored.names).cast(stored)
        pq.write_table(rows, path)
        known = FileStatistics(stored)
        known.add(rows)
        metrics = metrics_of(known.text, self._definition, self.schema, is_other=False)
        row_ids = {"first_row_id": at * 1000} if self._version >= 3 else {}
        return ManifestEntry(
            ADDED,
            SNAPSHOT,
            SEQUENCE,
            SEQUENCE,
            str(path),
            len(rows),
            path.stat().st_size,
            tuple_of(file.partition, self.spec, self.schema),
        )._replace(**{**metrics._asdict(), **row_ids})

    def _delete_entry(self, data: ManifestEntry, deleted: RowSet | None) -> ManifestEntry:
        assert deleted
        if self._version >= 3:
            content, (place,) = puffin_bytes([VectorBlob(data.path, deleted)])
            kind: dict[str, Any] = {
                "file_format": "PUFFIN",
                "content_offset": place.offset,
                "content_size": place.length,
            }
            path = Path(f"{data.path}.puffin")
        else:
            content, bounds = position_delete_bytes(data.path, deleted), delete_bounds(data.path)
            kind = {"lower_bounds": bounds, "upper_bounds": bounds}
            path = Path(f"{data.path}-deletes.parquet")
        path.write_bytes(content)
        return ManifestEntry(
            ADDED,
            SNAPSHOT,
            SEQUENCE,
            SEQUENCE,
            str(path),
            len(deleted),
            len(content),
            data.partition,
            POSITION_DELETES,
            referenced_data_file=data.path,
        )._replace(**kind)

    def _manifest(self, content: Content, entries: Sequence[ManifestEntry]) -> ManifestFile:
        path = self._folder / "metadata" / f"{content}.avro"
        data = manifest_bytes(entries, self.spec, self.schema, content, self._version)
        path.write_bytes(data)
        return manifest_file(
            str(path),
            data,
            entries,
            spec=self.spec,
            schema=self.schema,
            content=content,
            snapshot_id=SNAPSHOT,
            sequence_number=SEQUENCE,
            first_row_id=0 if self._version >= 3 and content == "data" else None,
        )

    def _metadata(self, listed: str, rows: int) -> Mapping[str, Any]:
        order = order_json(self._definition, 1)
        row_ids = {"next-row-id": rows} if self._version >= 3 else {}
        added = {"first-row-id": 0, "added-rows": rows} if self._version >= 3 else {}
        return {
            "format-version": self._version,
            "table-uuid": "5f8b3f1c-2f1d-4c59-9b39-3b5a4f5f0c11",
            "location": str(self._folder),
            "last-sequence-number": SEQUENCE,
            "last-updated-ms": 1_700_000_000_000,
            "last-column-id": highest_in(self.schema),
            "schemas": [self.schema],
            "current-schema-id": 0,
            "partition-specs": [self.spec],
            "default-spec-id": 0,
            "last-partition-id": max([999, *(e["field-id"] for e in self.spec["fields"])]),
            "sort-orders": [order],
            "default-sort-order-id": order["order-id"],
            "properties": {},
            "current-snapshot-id": SNAPSHOT,
            "snapshots": [
                {
                    "snapshot-id": SNAPSHOT,
                    "sequence-number": SEQUENCE,
                    "timestamp-ms": 1_700_000_000_000,
                    "summary": {"operation": "append"},
                    "manifest-list": listed,
                    "schema-id": 0,
                }
                | added
            ],
            "refs": {"main": {"snapshot-id": SNAPSHOT, "type": "branch"}},
        } | row_ids

    def by_pyiceberg(self, **chosen: Any) -> pa.Table:
        """Return the rows as pyiceberg reads them."""
        return StaticTable.from_metadata(str(self.metadata)).scan(**chosen).to_arrow()

    def by_duckdb(self, condition: str = "TRUE") -> pa.Table:
        """Return the rows that meet a condition of SQL, as DuckDB's extension reads them."""
        found = with_iceberg().execute(
            f"SELECT * FROM iceberg_scan(?) WHERE {condition}",  # noqa: S608 - of the tests
            [str(self.metadata)],
        )
        return found.to_arrow_table()


@cache
def with_iceberg() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with its extensions for Avro and Iceberg, which packages bring."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "iceberg"):
        package = pytest.importorskip(f"duckdb_extension_{name}", reason="DuckDB's are not here")
        found = next(Path(package.__file__).parent.rglob("*.duckdb_extension"))
        connection.execute(f"LOAD '{found}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
