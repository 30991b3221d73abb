"""A served table: what Iceberg's readers get of one table as of one position."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import RLock
from typing import Any, Final, Literal

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.errors import UnreadableTableError
from ledger.iceberg.manifests.avro_schemas import SEQUENCES_FROM
from ledger.reads.port import FileRow, Reads, TableRow, VersionRow
from projections.iceberg.errors import bad_request
from projections.iceberg.served.folding import TableFold
from projections.iceberg.served.metadata.folder import MetadataFolder
from projections.iceberg.served.metadata.names import MetadataNames
from projections.iceberg.served.metadata.versions import earlier_versions, readable
from projections.iceberg.served.name_mapping import NAME_MAPPING, name_mapping, names_in
from projections.iceberg.served.numbers import UnservableError, first_row_id
from projections.iceberg.served.paths import file_text, folder_text, location_of, place_key
from projections.iceberg.served.plans.answers import plan_json, snapshot_of
from projections.iceberg.served.plans.requests import check_request
from projections.iceberg.served.rendering import Rendering
from projections.iceberg.served.shapes import JSON, ROW_IDS_FROM, Shown, of_format
from projections.iceberg.served.snapshots import ServedSnapshot

Snapshots = Literal["all", "refs"]

HIDDEN: Final = "iceberg."
"""The beginning of properties that carry Iceberg's own facts."""

ALWAYS: Final[Mapping[str, str]] = {"gc.enabled": "false"}
"""Clients delete no files of a table: versions, held snapshots and open txns may need them."""

MAIN: Final = "main"


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """Raise IcebergRefusal for a table that Iceberg's readers cannot read rightly."""
    try:
        yield
    except (UnservableError, UnreadableTableError) as error:
        raise bad_request(f"Iceberg's readers cannot read table {name}: {error}") from error


class ServedTable:
    """A table as of one position; it stays as it is, whatever is committed later.

    Attributes:
        row: the table as it was asked for.
        definition: the definition at the position.
        version: the newest version up to there.
        position: the position.
        problem: why Iceberg's readers cannot read the table, "" if they can.
        uuid: the id of the table to Iceberg.
        format_version: 1, 2 or 3.
        location: the folder of the table, as text that readers get.
    """

    def __init__(
        self,
        row: TableRow,
        position: int,
        fold: TableFold,
        rendering: Rendering,
        *,
        ledger: str,
        reads: Callable[[], Reads],
        folders: Callable[[str], MetadataFolder],
        lock: RLock,
        version: VersionRow | None = None,
    ) -> None:
        self.row, self.position = row, position
        self._version_row = version or fold.row
        self._shown: Shown = fold.shapes.at(self._version_row.position)
        self._fold, self._rendering = fold, rendering
        self._reads, self._folders, self._lock = reads, folders, lock
        self.definition: TableDefinition = self._shown.definition
        self.version = self._version_row.version
        self.format_version = self._shown.shape.format_version
        self.location = location_of(self.definition)
        self._names = MetadataNames(ledger, row.table)
        self.uuid = self._names.uuid(self.definition)
        self._listed, self.problem = readable(fold, self._version_row)
        self._earlier: Sequence[VersionRow] = earlier_versions(fold, self._version_row)

    @property
    def current_snapshot_id(self) -> int | None:
        """The id of the newest snapshot, None if no version changed files yet."""
        return self._listed[-1].id if self._listed else None

    @property
    def schemas(self) -> Sequence[JSON]:
        """The schemas of the table up to the position; the id of each is its place."""
        return self._shown.schemas

    @property
    def specs(self) -> Sequence[JSON]:
        """The partition specs up to the position; the id of each is its place."""
        return self._shown.specs

    @property
    def snapshots(self) -> Sequence[int]:
        """The ids of the listed snapshots, oldest first."""
        return [each.id for each in self._listed]

    def etag(self, snapshots: Snapshots = "all") -> str:
        """Return what is equal for equal metadata, with its quotes."""
        return f'"{self._names.digest(self.definition, self._version_row, snapshots)}"'

    def metadata(self, snapshots: Snapshots = "all") -> dict[str, Any]:
        """Return the metadata of the table, with which all files that it names are there.

        With `refs` only the newest snapshot is listed. Raises StorageError if the storage refuses
        to take files.
        """
        # Another thread may fold the table further meanwhile.
        with self._lock:
            for each in self._earlier:
                self._ensure_earlier(each)
        return self._metadata(self._listed[-1:] if snapshots == "refs" else self._listed)

    def _manifest_list(self, snapshot: ServedSnapshot) -> str:
        version = snapshot.format_within(self.format_version)
        return self._rendering.manifest_list(snapshot, version)

    @cached_property
    def metadata_location(self) -> str:
        """The path of a file with the whole metadata, which is there."""
        return self._ensure_file(self.metadata())

    def ensure_file(self) -> None:
        """Write the file with the whole metadata unless it is there, but no file of its log."""
        self._ensure_file(self._metadata(self._listed))

    def _ensure_file(self, metadata: JSON) -> str:
        data = json.dumps(metadata, separators=(",", ":"), ensure_ascii=False).encode()
        folder = self._folders(self.location)
        name = self._names.file(self.definition, self._version_row)
        folder.ensure(name, len(data), lambda: data)
        return folder.place(name)

    def _ensure_earlier(self, version: VersionRow) -> None:
        """Write the metadata file of an earlier version unless it is there.

        DuckDB opens the files of the log to find the state at the start of its txn.
        """
        place, name = self._place_of(version)
        if not self._folders(place).is_known(name):
            self._as_of(version).ensure_file()

    def _as_of(self, version: VersionRow) -> "ServedTable":
        return ServedTable(
            self.row,
            version.position,
            self._fold,
            self._rendering,
            ledger=self._names.ledger,
            reads=self._reads,
            folders=self._folders,
            lock=self._lock,
            version=version,
        )

    def _place_of(self, version: VersionRow) -> tuple[str, str]:
        """Return the location of an earlier version, and the name of its metadata file."""
        then = self._fold.shapes.at(version.position).definition
        return location_of(then), self._names.file(then, version)

    def _log_entry(self, version: VersionRow) -> JSON:
        place, name = self._place_of(version)
        return {"timestamp-ms": version.at, "metadata-file": f"{folder_text(place)}/{name}"}

    def _metadata(self, wanted: Sequence[ServedSnapshot]) -> dict[str, Any]:
        with self._lock, refusals(self.row.name):
            listed = [(each, self._manifest_list(each)) for each in wanted]
        shown, newest = self._shown, self._listed[-1] if self._listed else None
        made: dict[str, Any] = {
            "format-version": self.format_version,
            "table-uuid": self.uuid,
            "location": self.location,
            "last-updated-ms": self._version_row.at,
            "last-column-id": shown.last_column_id,
            "current-schema-id": shown.shape.schema["schema-id"],
            "schemas": list(shown.schemas),
            "default-spec-id": shown.shape.spec["spec-id"],
            "partition-specs": list(shown.specs),
            "last-partition-id": shown.last_partition_id,
            "default-sort-order-id": shown.order_id,
            "sort-orders": list(shown.orders),
            "properties": self.properties,
            "snapshots": [self._snapshot_json(*each) for each in listed],
            "snapshot-log": [
                {"snapshot-id": each.id, "timestamp-ms": each.row.at} for each, _ in listed
            ],
            "metadata-log": [self._log_entry(each) for each in self._earlier],
            "refs": {},
        }
        if newest is not None:
            made["current-snapshot-id"] = newest.id
            made["refs"] = {MAIN: {"snapshot-id": newest.id, "type": "branch"}}
        return of_format(made, newest.sequence if newest else 0, first_row_id(self.version + 1))

    def _snapshot_json(self, snapshot: ServedSnapshot, manifest_list: str) -> dict[str, Any]:
        made: dict[str, Any] = {
            "snapshot-id": snapshot.id,
            "timestamp-ms": snapshot.row.at,
            "manifest-list": manifest_list,
            "summary": dict(snapshot.summary),
            "schema-id": snapshot.shown.shape.schema["schema-id"],
        }
        at = self._listed.index(snapshot)
        if at:
            made["parent-snapshot-id"] = self._listed[at - 1].id
        # The list of a snapshot from before a change of the format has no row ids.
        version = snapshot.format_within(self.format_version)
        if version >= SEQUENCES_FROM:
            made["sequence-number"] = snapshot.sequence
        if version >= ROW_IDS_FROM:
            made["first-row-id"] = snapshot.first_row_id
            made["added-rows"] = sum(each.rows for each in snapshot.change.added)
        return made

    @cached_property
    def properties(self) -> dict[str, str]:
        """The properties of the table as clients get them."""
        own: dict[str, str] = {
            key: value
            for key, value in properties(self.definition).items()
            if not key.startswith(HIDDEN)
        }
        newest = self._listed[-1] if self._listed else None
        if newest is not None and any(is_foreign for _, is_foreign in newest.used):
            names = names_in(self._fold.shapes.up_to(self._shown), self._shown)
            own[NAME_MAPPING] = name_mapping(self._shown.shape.schema, names)
        return {**own, **ALWAYS}

    def version_of(self, snapshot_id: int) -> int | None:
        """Return the last version that shows a snapshot, None for one that is not listed."""
        for at, each in enumerate(self._listed):
            if each.id == snapshot_id:
                is_newest = at + 1 == len(self._listed)
                following = self.version + 1 if is_newest else self._listed[at + 1].version
                return following - 1
        return None

    def version_row_of_noted(self, snapshot_id: int) -> VersionRow | None:
        """Return the version whose commit noted a snapshot, None if none of the newest did."""
        found = self._fold.version_noted(snapshot_id)
        if found is None or found > self.version:
            return None
        return self._reads().version_row(self.row.table, version=found)

    def spec_at(self, position: int) -> JSON:
        """Return the partition spec that the table had at a position up to its own."""
        with self._lock:
            return self._fold.shapes.at(position).shape.spec

    def files_at(self, version: int) -> Mapping[str, FileRow]:
        """Return the files that are live as of a version, by the keys of their paths.

        `paths.place_key` is the key of a path that a client names. Raises UnknownVersionError for
        a version that the table does not have.
        """
        with self._lock:
            if version == self.version == self._fold.row.version:
                files = list(self._fold.files.rows())
            else:
                files = list(self._reads().files(self.row.table, version=version))
        location, storage = self.location, self._folders(self.location).storage
        return {place_key(file_text(location, each.path, storage)): each for each in files}

    def plan(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the files of a scan that the server plans; raises IcebergRefusal.

        The whole filter stays as the residual of each task, so a client applies it to the rows.
        """
        wanted = snapshot_of(request)
        check_request(request, self._shown.shape.schema)
        found = [each for each in self._listed if wanted in (None, each.id)]
        if not found and wanted is not None:
            raise bad_request(f"snapshot {wanted} is not listed, so it cannot be planned")
        with self._lock, refusals(self.row.name):
            data, deletes = self._rendering.planned(found[-1]) if found else ((), ())
        return plan_json(data, deletes, request.get("filter"))
