"""Live files: the data files and deletes of one table, changed version by version."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.files.foreign_bounds import is_foreign
from ledger.files.storage import Storage
from ledger.reads.port import FileChange, FileRow
from projections.iceberg.served.chunks import Chunks, Entry, chunked, key_of
from projections.iceberg.served.entries import (
    DataEntry,
    DeletesEntry,
    VersionChange,
    has_deletes,
    is_same_data,
)
from projections.iceberg.served.file_statistics import is_other_metrics, problem_of_ids, rows_in
from projections.iceberg.served.numbers import UnservableError, first_rows_of
from projections.iceberg.served.own_partitions import own_partition
from projections.iceberg.served.shapes import TableShapes

IN_LOG: Final = (
    "it has rows in the log, where readers of files do not find them: write them into files with "
    "OPTIMIZE"
)
JUDGED_MAX: Final = 256
"""So many commits of other programs are judged by a file of theirs when a table is first loaded."""


class ServedFile(NamedTuple):
    """A live file: its entries, and its row as it is now."""

    entry: DataEntry
    deletes: DeletesEntry | None
    row: FileRow


class Origin(NamedTuple):
    """Where the rows of a file were added: the version, and its position."""

    version: int
    position: int


class Totals(NamedTuple):
    """Sums over the live files of a version."""

    files: int = 0
    rows: int = 0
    size: int = 0
    deletes: int = 0
    deleted_rows: int = 0

    def changed(self, change: VersionChange) -> "Totals":
        """Return the sums after a version."""
        return Totals(
            self.files + len(change.added) - len(change.removed),
            self.rows + rows(change.added) - rows(change.removed),
            self.size + size(change.added) - size(change.removed),
            self.deletes + len(change.deletes_added) - len(change.deletes_removed),
            self.deleted_rows + rows(change.deletes_added) - rows(change.deletes_removed),
        )


class ServedFiles:
    """The files of a table as of one version.

    Attributes:
        data: the entries of data files.
        deletes: the entries of deletes.
        totals: the sums of both.
        shapes_used: how many files were added under a shape, by its number and whether the files
            are another program's, which may know columns by name alone.
        problems: why files cannot be read, by path: rows in the log, and files of other programs
            that have odd ids.
    """

    def __init__(self, shapes: TableShapes, *, has_row_ids: bool) -> None:
        self._shapes = shapes
        self._has_row_ids = has_row_ids
        self._by_path: dict[str, ServedFile] = {}
        self._storages: dict[str, Storage] = {}
        self._judged: set[int] = set()
        self.problems: dict[str, str] = {}
        self.data: Chunks[DataEntry] = Chunks()
        self.deletes: Chunks[DeletesEntry] = Chunks()
        self.totals = Totals()
        self.shapes_used: Counter[tuple[int, bool]] = Counter()

    def rows(self) -> Iterable[FileRow]:
        """Yield the live files as they are now."""
        return (each.row for each in self._by_path.values())

    def begin(
        self,
        version: int,
        files: Iterable[FileRow],
        origins: Mapping[str, Origin],
        first_rows: Mapping[tuple[int, str], int],
        with_ids: Callable[[int], bool],
    ) -> None:
        """Take the files that are live as of a version, the first one to be known.

        `origins` has the origin of files whose row does not say it, `with_ids` whether the files of
        a version were written with the table's ids.
        """
        for row in files:
            found = origins.get(row.path, Origin(row.version, row.added))
            first = first_rows.get((found.version, row.path))
            entry = self._entry(row, found, first, with_ids=with_ids(found.version))
            self._put(entry, row)
        self.data = chunked((each.entry for each in self._by_path.values()), version)
        deletes = [each.deletes for each in self._by_path.values() if each.deletes is not None]
        self.deletes = chunked(deletes, version)
        self._judged.clear()
        self.totals = self.totals.changed(
            VersionChange(added=tuple(self.data.entries()), deletes_added=tuple(deletes))
        )

    def apply(
        self, version: int, changes: Sequence[FileChange], *, with_ids: bool
    ) -> VersionChange:
        """Apply the changes of the next version, and return them as entries."""
        gone, come = by_path(changes)
        before = {path: self._take(path) for path in gone}
        self._judged.clear()
        firsts: Mapping[str, int] = {}
        if self._has_row_ids:
            firsts = first_rows_of(version, new_rows(changes), self.counted)
        for path, row in come.items():
            if path in gone and is_same_data(gone[path], row):
                old = before[path]
                entry = old.entry
                if is_other_metrics(old.row, row):
                    entry = entry._replace(file=row)
            else:
                origin = Origin(version, row.added)
                entry = self._entry(row, origin, firsts.get(path), with_ids=with_ids)
            self._put(entry, row)
        return self._changed(version, before, come, changes)

    def _changed(
        self,
        version: int,
        before: Mapping[str, ServedFile],
        come: Mapping[str, FileRow],
        changes: Sequence[FileChange],
    ) -> VersionChange:
        after = {path: self._by_path[path] for path in come}
        old, new = entries_of(before), entries_of(after)
        old_deletes, new_deletes = deletes_of(before), deletes_of(after)
        self.data = changed(self.data.at(version), old, new)
        self.deletes = changed(self.deletes.at(version), old_deletes, new_deletes)
        old_keys, new_keys = set(map(key_of, old)), set(map(key_of, new))
        old_vectors = {(each.path, each.file.vector) for each in old_deletes}
        new_vectors = {(each.path, each.file.vector) for each in new_deletes}
        # Deletes that were recorded again belong to their data file as before.
        change = VersionChange(
            [each for each in sorted(new, key=key_of) if key_of(each) not in old_keys],
            [each for each in sorted(old, key=key_of) if key_of(each) not in new_keys],
            [each for each in new_deletes if (each.path, each.file.vector) not in old_vectors],
            [each for each in old_deletes if (each.path, each.file.vector) not in new_vectors],
            any(each.data_change for each in changes),
        )
        self.totals = self.totals.changed(change)
        return change

    def counted(self, row: FileRow) -> int:
        """Return how many rows a data file has; raises UnreadableTableError if that is unknown."""
        return rows_in(row, self._storage(self._shapes.at(row.added).definition))

    def _entry(
        self, row: FileRow, origin: Origin, first_row: int | None, *, with_ids: bool
    ) -> DataEntry:
        shape = self._shapes.at(origin.position).shape
        own = own_partition(row.tags)
        if own is not None:
            shape = self._shapes.divided(shape, own)
        by_name = not with_ids and not row.rows and is_foreign(row.path)
        if by_name and origin.version not in self._judged and len(self._judged) < JUDGED_MAX:
            # Files of one commit are mostly of one writer.
            self._judged.add(origin.version)
            definition = self._shapes.at(origin.position).definition
            problem = problem_of_ids(row, definition, self._storage(definition))
            if problem:
                self.problems[row.path] = problem
        return DataEntry(
            origin.version,
            row.path,
            shape.kind,
            shape.number,
            row,
            self.counted(row),
            first_row,
            by_name,
        )

    def _put(self, entry: DataEntry, row: FileRow) -> None:
        if row.path in self._by_path:
            raise twice(row)
        if row.vector and row.deletion_vector is None:
            raise UnservableError(
                f"the deleted rows of {row.path} are known by the id of their vector alone; import "
                "the table anew"
            )
        deletes = None
        if has_deletes(row):
            version = self._shapes.at(row.added).shape.format_version
            kind = (entry.kind, version)
            deletes = DeletesEntry(row.version, row.path, kind, entry.shape, row, version)
        if row.rows:
            self.problems[row.path] = IN_LOG
        self._by_path[row.path] = ServedFile(entry, deletes, row)
        self.shapes_used[entry.shape, entry.is_foreign] += 1

    def _take(self, path: str) -> ServedFile:
        found = self._by_path.pop(path)
        self.problems.pop(path, None)
        used = found.entry.shape, found.entry.is_foreign
        self.shapes_used[used] -= 1
        if not self.shapes_used[used]:
            del self.shapes_used[used]
        return found

    def _storage(self, definition: TableDefinition) -> Storage:
        if definition.location not in self._storages:
            self._storages[definition.location] = Storage(definition.location)
        return self._storages[definition.location]


def changed(
    chunks: Chunks[Entry], before: Sequence[Entry], after: Sequence[Entry]
) -> Chunks[Entry]:
    """Return chunks with some entries instead of others; those in both stay."""
    old, new = set(before), set(after)
    return chunks.changed(
        map(key_of, (each for each in before if each not in new)),
        [each for each in after if each not in old],
    )


def by_path(changes: Sequence[FileChange]) -> tuple[dict[str, FileRow], dict[str, FileRow]]:
    """Return the files that a version removed and added, by their paths.

    Raises UnservableError for a path that it added twice.
    """
    gone = {each.file.path: each.file for each in changes if not each.added}
    come: dict[str, FileRow] = {}
    for each in changes:
        if each.added and come.setdefault(each.file.path, each.file) is not each.file:
            raise twice(each.file)
    return gone, come


def new_rows(changes: Sequence[FileChange]) -> list[FileRow]:
    """Return the files that a version added and that are no earlier files under another vector."""
    gone, come = by_path(changes)
    return [
        row for path, row in come.items() if path not in gone or not is_same_data(gone[path], row)
    ]


def entries_of(files: Mapping[str, ServedFile]) -> list[DataEntry]:
    """Return what manifests of data name."""
    return [each.entry for each in files.values()]


def deletes_of(files: Mapping[str, ServedFile]) -> list[DeletesEntry]:
    """Return what manifests of deletes name, in the order of paths."""
    return [each.deletes for _, each in sorted(files.items()) if each.deletes is not None]


def rows(entries: Sequence[DataEntry] | Sequence[DeletesEntry]) -> int:
    """Return the sum of rows."""
    return sum(each.rows for each in entries)


def size(entries: Sequence[DataEntry]) -> int:
    """Return the sum of bytes."""
    return sum(each.file.size for each in entries)


def twice(file: FileRow) -> UnservableError:
    """Return the error for a path that is live under two vectors."""
    return UnservableError(
        f"the file {file.path} is live twice, under different deletion vectors; write it anew, as "
        "OPTIMIZE does"
    )
