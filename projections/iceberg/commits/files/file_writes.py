"""What a commit does to the files of one table: adds, removals and marks, and how it is judged.

- Files that are only added depend on nothing, whatever the client had seen: a blind insert. A table
  of the level Serializable is the exception, for the protocol does not say what the client read: a
  MERGE that finds no row is such a commit too.
- Rows that move to other files (`replace`) meet removals of the same files alone.
- Any other change depends on the whole table as of the client's snapshot. With the isolation level
  `snapshot` in all of Iceberg's properties it meets changes of the same files, or rows, alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.rows.bitmaps import RowSet
from ledger.core.state.traits import traits_of
from ledger.log.wire.file_list import AddFile
from ledger.properties.known_properties import asks_for_marks
from ledger.reads.port import FileRow
from ledger.statements.marking import is_markable
from projections.iceberg.commits.files.client_files import ClientFiles
from projections.iceberg.commits.files.new_files import NewDataFiles, VectorPlaces
from projections.iceberg.commits.files.row_deletes import deleted_before, deleted_in
from projections.iceberg.commits.files.snapshot_difference import Difference
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.commits.table_state import FilesThen
from projections.iceberg.commits.updates import AskedSnapshot
from projections.iceberg.errors import bad_request, commit_failed

Judgement = Literal["blind", "whole", "files", "same"]
"""What a commit depends on: nothing, the whole table, the files that it removes, or the files that
it puts elsewhere."""

LEVELS: Final = tuple(f"write.{verb}.isolation-level" for verb in ("delete", "update", "merge"))
NAMES: Final = {"append": "WRITE", "delete": "DELETE", "overwrite": "UPDATE", "replace": "OPTIMIZE"}
"""Delta's names of Iceberg's operations."""


@dataclass(slots=True)
class FileWrites:
    """The changes of the files of one table.

    Attributes:
        judgement: what they depend on.
        operation: Delta's name of the operation.
        adds: files to add, also files again under another vector.
        removes: files to remove.
        marks: rows to delete of files that stay.
        keeps: whether a table that is replaced keeps files, which makes a version too.
    """

    judgement: Judgement
    operation: str
    adds: list[AddFile] = field(default_factory=list)
    removes: list[FileRow] = field(default_factory=list)
    marks: list[tuple[FileRow, RowSet]] = field(default_factory=list)
    keeps: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether they make no version."""
        return not (self.adds or self.removes or self.marks or self.keeps)


def judgement_of(
    definition: TableDefinition, chain: Sequence[AskedSnapshot], change: Difference
) -> Judgement:
    """Return what a commit with some new snapshots depends on."""
    operations = {each.operation for each in chain}
    if operations == {"append"} and change.only_adds:
        return "whole" if traits_of(definition).level == "Serializable" else "blind"
    if operations == {"replace"}:
        return "same"
    held = properties(definition)
    is_snapshot = all(held.get(key, "").lower() == "snapshot" for key in LEVELS)
    return "files" if is_snapshot else "whole"


def operation_of(chain: Sequence[AskedSnapshot], change: Difference) -> str:
    """Return Delta's name of what a commit with some new snapshots does."""
    if len(chain) == 1:
        return NAMES[chain[0].operation]
    if change.only_adds:
        return NAMES["append"]
    return NAMES["overwrite" if change.added else "delete"]


class WritesOfTable:
    """Makes the changes of files out of the difference of a commit in one table."""

    def __init__(
        self,
        files: ClientFiles,
        definition: TableDefinition,
        live: FilesThen,
        places: VectorPlaces,
        *,
        partitioned: int,
        spec_of: Callable[[FileRow], Given],
    ) -> None:
        self._files, self._definition, self._live = files, definition, live
        self._places = places
        self._partitioned = partitioned
        self._spec_of = spec_of

    def made(
        self, change: Difference, chain: Sequence[AskedSnapshot], new: NewDataFiles
    ) -> FileWrites:
        """Return the changes of files; raises IcebergRefusal for one that is gone and not there."""
        judgement = judgement_of(self._definition, chain, change)
        made = FileWrites(judgement, operation_of(chain, change))
        deleted = deleted_in(self._files, change, self._live.get)
        for key, entry in change.added.items():
            file = new.made(key, entry, is_same=judgement == "same")
            rows = deleted.get(key)
            made.adds.append(self._places.with_rows(file, rows) if rows else file)
        for key in change.removed:
            row = self._live.get(key)
            if row is not None:
                made.removes.append(row)
            elif len(chain) == 1:
                raise commit_failed(
                    f"the file {shown(key)} is not in the snapshot on which the commit builds"
                )
        for key, rows in deleted.items():
            if key not in change.added:
                self._delete_rows(made, key, rows, new)
        if judgement == "same":
            self._check_same(change, made, deleted)
        return made

    def _delete_rows(self, made: FileWrites, key: str, rows: RowSet, new: NewDataFiles) -> None:
        """Leave fewer rows of a live file: by marks, or by another vector of the file."""
        row = self._live.get(key)
        assert row is not None, f"deleted rows of {key} were found without a file"
        more = rows - deleted_before(self._files, row)
        is_known = row.added > self._partitioned and not (row.vector and not row.deletion_vector)
        by_marks = asks_for_marks(self._definition) and is_markable(row) and is_known
        if by_marks and self._places.fits(rows):
            made.marks.append((row, more))
            return
        made.removes.append(row)
        again = new.again(row, self._spec_of(row))
        made.adds.append(self._places.with_rows(again, rows))

    def _check_same(
        self, change: Difference, made: FileWrites, deleted: Mapping[str, RowSet]
    ) -> None:
        """Raise IcebergRefusal for a replacement that does not keep all rows."""
        if deleted:
            raise bad_request(
                "a commit with the operation replace must keep all rows, and it deletes rows of "
                f"{shown(next(iter(deleted)))}: name the operation overwrite or delete"
            )
        new = sum(each.entry.record_count for each in change.added.values())
        old = sum(each.record_count for each in change.removed.values())
        gone = sum(row.deletion_vector.cardinality for row in made.removes if row.deletion_vector)
        if new != old - gone:
            raise bad_request(
                f"a commit with the operation replace must keep all rows, and {old - gone} rows "
                f"become {new}: name the operation overwrite or delete"
            )


def whole_replaced(live: Mapping[str, FileRow]) -> FileWrites:
    """Return the changes by which all files of a table give way."""
    return FileWrites("whole", NAMES["delete"], removes=list(live.values()))
