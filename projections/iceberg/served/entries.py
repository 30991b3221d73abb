"""Entries: the files of a table as its manifests name them, data files and deletes of rows."""

from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import NamedTuple

from ledger.reads.port import FileRow
from projections.iceberg.served.chunks import Chunk, Entry, key_of
from projections.iceberg.served.own_partitions import own_partition


class DataEntry(NamedTuple):
    """A data file; `version` and `shape` are those under which its rows were added.

    `rows` counts all rows in the file, deleted ones too. `first_row` is the id of its first row,
    None below format 3.
    """

    version: int
    path: str
    kind: Hashable
    shape: int
    file: FileRow
    rows: int
    first_row: int | None = None
    is_foreign: bool = False


class DeletesEntry(NamedTuple):
    """The deleted rows of a data file; `version` is the one that deleted rows last.

    `shape` is the data file's. The deletes have the form of the format that the table had then.
    """

    version: int
    path: str
    kind: Hashable
    shape: int
    file: FileRow
    format_version: int

    @property
    def rows(self) -> int:
        """How many rows are deleted."""
        vector = self.file.deletion_vector
        assert vector is not None, f"the file {self.path} must have a vector to have deletes"
        return vector.cardinality


class VersionChange(NamedTuple):
    """What a version changed in the files of a table, as its snapshot shows it."""

    added: Sequence[DataEntry] = ()
    removed: Sequence[DataEntry] = ()
    deletes_added: Sequence[DeletesEntry] = ()
    deletes_removed: Sequence[DeletesEntry] = ()
    has_new_data: bool = False
    """Whether the version changed rows, and did not only put them into other files."""

    @property
    def is_of_deletes(self) -> bool:
        """Whether deletes of rows changed, and no data file."""
        return not (self.added or self.removed)

    @property
    def has_rows_back(self) -> bool:
        """Whether a data file that stays has fewer deleted rows than before."""
        gone = {each.path for each in self.removed}
        now = {each.path: each.rows for each in self.deletes_added}
        return any(
            now.get(each.path, 0) < each.rows
            for each in self.deletes_removed
            if each.path not in gone
        )


def has_deletes(file: FileRow) -> bool:
    """Return whether the vector in the log takes rows away."""
    return file.deletion_vector is not None and file.deletion_vector.cardinality > 0


def is_same_data(before: FileRow, after: FileRow) -> bool:
    """Return whether a path that a commit removes and adds is a file that stays, with deletes."""
    is_alike = before.partition == after.partition or own_partition(after.tags) is not None
    return is_alike and before.size == after.size and has_deletes(after)


def by_kind(entries: Sequence[Entry]) -> list[Chunk[Entry]]:
    """Return entries in one chunk for each kind, in order."""
    ordered = sorted(entries, key=lambda each: (repr(each.kind), key_of(each)))
    return [Chunk(list(some)) for _, some in groupby(ordered, key=lambda each: each.kind)]
