"""A table as its commits see it: what they need of the served table, at one position."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.footprints import path_hash
from ledger.reads.port import FileRow, Reads, TableRow, VersionRow
from projections.iceberg.commits.files.client_paths import TablePaths
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.errors import bad_request

Snapshots = Literal["all", "refs"]


class TableAsServed(Protocol):
    """A table as clients have it, at one position."""

    @property
    def row(self) -> TableRow:
        """What it is called, and its incarnation."""

    @property
    def definition(self) -> TableDefinition:
        """Its columns and properties at the position."""

    @property
    def version(self) -> int:
        """The newest one up to the position."""

    @property
    def position(self) -> int:
        """The position up to which events count."""

    @property
    def current_snapshot_id(self) -> int | None:
        """The snapshot that the main branch shows, None without one."""

    @property
    def metadata_location(self) -> str:
        """The path of a file with its metadata, which is there."""

    def metadata(self, snapshots: Snapshots = "all") -> dict[str, Any]:
        """Return its metadata as clients get it."""

    def version_of(self, snapshot_id: int) -> int | None:
        """Return the last version that shows a snapshot, None for an unknown one."""

    def version_row_of_noted(self, snapshot_id: int) -> VersionRow | None:
        """Return the version whose commit noted a snapshot, None without one."""

    def spec_at(self, position: int) -> Given:
        """Return the partition spec that it had at a position up to its own."""

    def files_at(self, version: int) -> Mapping[str, FileRow]:
        """Return the files that are live with a version, by the keys of their paths."""


class TablesAsServed(Protocol):
    """The served tables of one catalog."""

    def table(self, row: TableRow, position: int | None = None) -> TableAsServed:
        """Return a table at a position, by default at the newest one."""


LOOKED_UP_MAX: Final = 64
"""So many new files of a commit are looked up one by one."""


class BuiltOn(NamedTuple):
    """The state on which a client's commit builds.

    `version` is None for a snapshot that is not known any more. `position` is the one as of which
    the ledger judges the commit, `manifest_list` the path of the list that the client had, None
    for a table without files, and `is_listed` says whether that list is known.
    """

    version: int | None
    position: int
    manifest_list: str | None
    is_listed: bool


class FilesThen:
    """The files of a table as of one version, found in any spelling of their paths."""

    def __init__(self, paths: TablePaths, files: Mapping[str, FileRow]) -> None:
        self._paths, self._files = paths, files

    def get(self, key: str) -> FileRow | None:
        """Return the live file of a key, None without one."""
        return self._files.get(self._paths.place(key))


class FilesNow:
    """The files that a table has and had, as far as a commit must not add them again."""

    def __init__(self, table: TableAsServed, paths: TablePaths, reads: Reads) -> None:
        self._table, self._paths, self._reads = table, paths, reads

    def check_new(self, keys: Iterable[str]) -> None:
        """Raise IcebergRefusal for a new file that the table has.

        Some files are also compared with all that it ever had: a commit that was sent again, and
        whose files were compacted meanwhile, would bring its rows a second time.
        """
        number, several = self._table.row.table, list(keys)
        for key in several[:LOOKED_UP_MAX]:
            if key in self._reads.file_paths(number, path_hash(key)):
                raise bad_request(
                    f"the new file {shown(key)} is or was in the table already: write its rows "
                    "into a file with another path"
                )
        if len(several) > LOOKED_UP_MAX:
            live = FilesThen(self._paths, self._table.files_at(self._table.version))
            for key in several:
                if live.get(key) is not None:
                    raise bad_request(f"the new file {shown(key)} is in the table already")


def built_on(
    table: TableAsServed, metadata: Given, snapshot: int | None, position_of: Callable[[int], int]
) -> BuiltOn:
    """Return the state of a table that a snapshot shows; None is the state without files.

    `metadata` is what the table serves, `position_of` returns the position of a version. A version
    that changed no file shows the snapshot of the version before it: the last one counts, so that a
    change of columns since does not stand between.
    """
    if snapshot == table.current_snapshot_id:
        found = None if snapshot is None else listed_at(metadata, snapshot)
        return BuiltOn(table.version, table.position, found, is_listed=True)
    if snapshot is None:
        return BuiltOn(None, table.row.created, None, is_listed=True)
    version = table.version_of(snapshot)
    if version is None:
        return BuiltOn(None, 0, None, is_listed=False)
    manifest_list = listed_at(metadata, snapshot)
    return BuiltOn(
        version, position_of(version), manifest_list, is_listed=manifest_list is not None
    )


def listed_at(metadata: Given, snapshot: int) -> str | None:
    """Return the path of the manifest list of a served snapshot, None if it is not listed."""
    listed: list[Given] = metadata["snapshots"]
    return next((each["manifest-list"] for each in listed if each["snapshot-id"] == snapshot), None)


def position_of_version(reads: Reads, row: TableRow, version: int) -> int:
    """Return where in the log a version was committed."""
    found = reads.version_row(row.table, version=version)
    assert found is not None, f"table {row.table} shows version {version}, which it does not have"
    return found.position
