"""Snapshots: the versions of a table that Iceberg's readers see."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from ledger.iceberg.manifests.avro_schemas import SEQUENCES_FROM
from ledger.log.wire.file_extras import is_block
from ledger.reads.port import VersionRow
from projections.iceberg.served.chunks import Added, Chunk, Chunks, Entry
from projections.iceberg.served.entries import DataEntry, DeletesEntry, VersionChange, by_kind
from projections.iceberg.served.live_files import ServedFiles, Totals, rows, size
from projections.iceberg.served.name_mapping import names_in, problem_of_names
from projections.iceberg.served.numbers import first_row_id
from projections.iceberg.served.paths import folder_text, location_of
from projections.iceberg.served.shapes import Shown, TableShapes, problem_between

NOTE: Final = "iceberg"
"""The key in the info of a version under which a commit noted its snapshot."""

ID: Final = "snapshot-id"
OPERATIONS: Final = frozenset({"append", "replace", "overwrite", "delete"})


def mark_added(chunks: Chunks[Entry], version: int, added: Sequence[Entry], origin: Added) -> None:
    """Mark the groups of a version that have added entries alone.

    A group that stays as it is keeps the manifest in which it was added.
    """
    new = set(added)
    for each in chunks.recent:
        if each.first[0] == version and new.issuperset(each.entries):
            each.added = origin


class WrittenList(NamedTuple):
    """A manifest list that is written, and when it was there last."""

    path: str
    seconds: float


class ServedSnapshot:
    """A version of a table with its files: its number is `id`, and `sequence` rises with versions.

    `used` are the shapes of its files, with whether the files are another program's. `written` has
    its manifest lists by the versions of the format that they have.
    """

    def __init__(
        self,
        row: VersionRow,
        number: int,
        sequence: int,
        *,
        shown: Shown,
        change: VersionChange,
        files: ServedFiles,
    ) -> None:
        self.row, self.id, self.sequence, self.shown = row, number, sequence, shown
        self.change = change
        self.written: dict[int, WrittenList] = {}
        self.data: Chunks[DataEntry] = files.data
        self.deletes: Chunks[DeletesEntry] = files.deletes
        self.totals: Totals = files.totals
        self.used = frozenset(files.shapes_used)
        self._of_files = next(iter(files.problems.values()), "")
        text = folder_text(location_of(shown.definition))
        origin = Added(number, sequence, shown.shape.format_version, text)
        mark_added(self.data, self.version, change.added, origin)
        mark_added(self.deletes, self.version, change.deletes_added, origin)

    def format_within(self, table: int) -> int:
        """Return the version of the format that it has in a table of another one.

        It is the one of its time, but for format 1: readers of the next ones want its numbers.
        """
        return max(self.shown.shape.format_version, min(table, SEQUENCES_FROM))

    @property
    def version(self) -> int:
        """The version of the table."""
        return self.row.version

    @cached_property
    def removed(self) -> Sequence[Chunk[DataEntry]]:
        """The data files that it removed; rows in the log were no file of any manifest."""
        return by_kind([each for each in self.change.removed if not is_block(each.path)])

    @cached_property
    def deletes_removed(self) -> Sequence[Chunk[DeletesEntry]]:
        """The deletes that no longer hold, because others replace them or the data file went."""
        return by_kind([each for each in self.change.deletes_removed if not is_block(each.path)])

    def problem(self, shapes: TableShapes, reading: Shown) -> str:
        """Return why its files cannot be read rightly under a shape, "" if they can."""
        own = self.shown.shape
        if self._of_files:
            return self._of_files
        if own.format_version < SEQUENCES_FROM and self.totals.deletes:
            return "format 1 has no deleted rows within files: write them anew with OPTIMIZE"
        for number, is_foreign in sorted(self.used):
            files = shapes.numbered(number)
            for shape in (own, reading.shape):
                problem = shape.problem or problem_between(files, shape)
                if problem:
                    return problem
            names = names_in(shapes.up_to(reading), reading) if is_foreign else {}
            if problem := problem_of_names(files, names):
                return problem
        return ""

    @cached_property
    def summary(self) -> Mapping[str, str]:
        """The summary: the operation, what changed, and the sums of the table."""
        change, totals = self.change, self.totals
        noted = note_of(self.row)
        given = noted.get("summary")
        found = {
            key: str(value)
            for key, value in (given.items() if isinstance(given, dict) else ())
            if isinstance(key, str) and isinstance(value, str | int)
        }
        counted = {
            "added-data-files": len(change.added),
            "deleted-data-files": len(change.removed),
            "added-records": rows(change.added),
            "deleted-records": rows(change.removed),
            "added-files-size": size(change.added),
            "removed-files-size": size(change.removed),
            "added-delete-files": len(change.deletes_added),
            "removed-delete-files": len(change.deletes_removed),
            "added-position-deletes": rows(change.deletes_added),
            "removed-position-deletes": rows(change.deletes_removed),
        }
        for key in counted:
            found.pop(key, None)
        sums = {
            "total-data-files": totals.files,
            "total-records": totals.rows,
            "total-files-size": totals.size,
            "total-delete-files": totals.deletes,
            "total-position-deletes": totals.deleted_rows,
            "total-equality-deletes": 0,
            "lakeledger.version": self.version,
            "lakeledger.position": self.row.position,
            "lakeledger.txn": self.row.txn,
        }
        said = {key: value for key, value in counted.items() if value}
        operation = {"operation": self._operation(noted)}
        return operation | found | {key: str(value) for key, value in (said | sums).items()}

    def _operation(self, noted: Mapping[str, Any]) -> str:
        """Return what the version did; what a commit noted counts only where nothing shows it.

        Clients look for conflicts by the operations of other snapshots, so each names its effect. A
        commit of several snapshots may have noted only that of the last one.
        """
        given, change = noted.get("operation"), self.change
        deletes = change.deletes_added or change.deletes_removed
        if not (change.added or change.removed or deletes):
            return str(given) if given in OPERATIONS else "append"
        if not change.has_new_data and (given == "replace" or not change.is_of_deletes):
            return "replace"
        if not (change.added or change.has_rows_back):
            return "delete"
        return "overwrite" if change.removed or deletes or given == "overwrite" else "append"

    @property
    def first_row_id(self) -> int:
        """The first id of rows that it may add, in format 3."""
        return first_row_id(self.version)


def note_of(row: VersionRow) -> Mapping[str, Any]:
    """Return what the commit of a version noted for Iceberg, empty if it noted nothing."""
    if f'"{NOTE}"' not in row.info:
        return {}
    try:
        found = json.loads(row.info).get(NOTE)
    except (AttributeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def noted_id(row: VersionRow) -> int | None:
    """Return the snapshot id that the commit of a version noted, None without one."""
    found = note_of(row).get(ID)
    return found if type(found) is int and found >= 0 else None
