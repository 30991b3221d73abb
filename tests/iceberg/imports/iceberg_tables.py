"""Iceberg tables that pyiceberg writes, and what each of their snapshots shows to it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.iceberg.importer import import_iceberg
from ledger.iceberg.imports.report import IcebergImportReport
from ledger.reads.port import FileRow, TableRow, VersionRow

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyiceberg")

from pyiceberg.catalog import MetastoreCatalog  # noqa: E402
from pyiceberg.exceptions import NoSuchTableError  # noqa: E402
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec  # noqa: E402
from pyiceberg.schema import Schema  # noqa: E402
from pyiceberg.serializers import FromInputFile  # noqa: E402
from pyiceberg.table import CommitTableResponse, Table  # noqa: E402
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder  # noqa: E402

NAME = "db.trips"
Row = Mapping[str, Any]


class FolderCatalog(MetastoreCatalog):
    """A catalog of one program: it keeps where the metadata of each table is."""

    def __init__(self, folder: Path) -> None:
        super().__init__("local", warehouse=folder.as_uri())
        self.folder = folder
        self.places: dict[tuple[str, ...], str] = {}

    def make(self, schema: Schema, spec: PartitionSpec, order: SortOrder, **given: str) -> Table:
        """Make a table and its first metadata file; properties may be given."""
        name, location = ("db", "trips"), (self.folder / "trips").as_uri()
        staged = self._create_staged_table(name, schema, location, spec, order, given)
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        self.places[name] = staged.metadata_location
        return self.load_table(name)

    def load_table(self, identifier: Any) -> Table:
        """Return a table as its newest metadata has it."""
        place = self.places.get(self.identifier_to_tuple(identifier))
        if place is None:
            raise NoSuchTableError(str(identifier))
        io = self._load_file_io(location=place)
        metadata = FromInputFile.table_metadata(io.new_input(place))
        return Table(self.identifier_to_tuple(identifier), metadata, place, io, self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """Write the next metadata file of a table."""
        name = table.name()
        current = self.load_table(name)
        staged = self._update_and_stage_table(current, name, requirements, updates)
        if staged.metadata != current.metadata:
            self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
            self.places[name] = staged.metadata_location
        form = {"metadata": staged.metadata, "metadata-location": self.places[name]}
        return CommitTableResponse.model_validate(form)


# What a catalog has beside these is not asked of this one.
FolderCatalog.__abstractmethods__ = frozenset()


def new_table(
    folder: Path,
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
    order: SortOrder = UNSORTED_SORT_ORDER,
    **given: str,
) -> Table:
    """Return a new Iceberg table in a folder; its properties may be given."""
    properties = {key.replace("_", "-"): value for key, value in given.items()}
    catalog: Any = FolderCatalog
    table: Table = catalog(folder).make(schema, spec, order, **properties)
    return table


def take(ledger: Ledger, table: Table, **given: Any) -> IcebergImportReport:
    """Import the table as its newest metadata has it."""
    return import_iceberg(ledger, table.metadata_location, NAME, **given)


def row_of(ledger: Ledger) -> TableRow:
    found = ledger.reads().table_named(ledger.catalog, NAME)
    assert found is not None
    return found


def versions(ledger: Ledger) -> list[VersionRow]:
    """Return the versions of the imported table, oldest first."""
    return list(reversed(ledger.reads().versions(row_of(ledger).table, 10_000)))


def noted(version: VersionRow) -> Mapping[str, Any] | None:
    """Return what a version notes of the snapshot that it was made from."""
    found = json.loads(version.info or "{}").get("iceberg")
    return found if isinstance(found, dict) else None


def version_by_snapshot(ledger: Ledger) -> dict[int, int]:
    """Return the last version that shows each snapshot."""
    found = [(noted(version), version.version) for version in versions(ledger)]
    return {note["snapshot-id"]: version for note, version in found if note is not None}


def files_of(ledger: Ledger, version: int | None = None) -> Sequence[FileRow]:
    return list(ledger.reads().files(row_of(ledger).table, version=version))


def main_branch(table: Table) -> list[int]:
    """Return the ids of the snapshots of the main branch, oldest first."""
    found: list[int] = []
    snapshot = table.current_snapshot()
    while snapshot is not None:
        found.append(snapshot.snapshot_id)
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    return list(reversed(found))


def rows_of(found: Any) -> list[Row]:
    """Return the rows of an Arrow table in one order, their columns by name."""
    rows = [dict(sorted(row.items())) for row in found.to_pylist()]
    return sorted(rows, key=repr)


def check_same_rows(ledger: Ledger, table: Table, snapshots: Iterable[int] = ()) -> None:
    """Check that each snapshot shows the same rows to the ledger and to pyiceberg."""
    shown = version_by_snapshot(ledger)
    for snapshot in snapshots or main_branch(table):
        theirs = rows_of(table.scan(snapshot_id=snapshot).to_arrow())
        ours = rows_of(ledger.scan(NAME, version=shown[snapshot]).to_arrow())
        assert ours == theirs, snapshot
    if table.current_snapshot() is not None:
        assert rows_of(ledger.scan(NAME).to_arrow()) == rows_of(table.scan().to_arrow())
