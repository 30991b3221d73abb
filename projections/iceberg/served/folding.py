"""Folding: the versions of one table become snapshots, all as of one position.

A table is folded further from the version at which it is. The first time it begins with the files
that were live before the oldest listed snapshot. So no history is read beyond what the snapshots
show.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from ledger.reads.port import DefinitionRow, FileChange, FileRow, Reads, VersionRow
from ledger.snapshot.changes import unreadable
from projections.iceberg.served.chunks import RECENT
from projections.iceberg.served.entries import has_deletes, is_same_data
from projections.iceberg.served.live_files import Origin, ServedFiles, new_rows
from projections.iceberg.served.numbers import UnservableError, first_rows_of, snapshot_id
from projections.iceberg.served.shapes import TableShapes
from projections.iceberg.served.snapshots import ServedSnapshot, noted_id

SNAPSHOTS_MAX: Final = 64
"""So many of the newest snapshots are listed."""

EARLIER_MAX: Final = 5
"""So many versions before one have metadata files that it names, at most."""

KNOWN_BACK: Final = 2 * EARLIER_MAX
"""So many versions before the newest one are known: those that the earliest of them names too."""

PAGE: Final = 256
NOTED_BACK: Final = 1_024
"""Commits that noted a snapshot are known by it this many versions back, at least."""

CHANGES: Final = 5_000
APART_MAX: Final = 4
"""Versions that are this near are read together, with those between them."""


class LostStateError(Exception):
    """The log is another one than that from which a table was folded."""


class TableFold:
    """The snapshots of one table up to a version; a fold that failed is not used again.

    Attributes:
        row: the newest version.
        shapes: what the definitions up to there are to Iceberg.
        versions: the newest versions, `row` included, oldest first.
        snapshots: the newest snapshots, oldest first: those that each of `versions` lists.
        files: the live files.
        noted: the versions by the snapshot ids that their commits noted.
    """

    def __init__(self, reads: Reads, ledger: str, table: int, position: int) -> None:
        self._ledger, self._table = ledger, table
        self.shapes = TableShapes()
        self.snapshots: deque[ServedSnapshot] = deque(maxlen=SNAPSHOTS_MAX + KNOWN_BACK)
        self.versions: deque[VersionRow] = deque(maxlen=KNOWN_BACK + 1)
        self.noted: dict[int, int] = {}
        self.snapshot_ids: dict[int, int] = {}
        self._begin(reads, position)

    def go_on(self, reads: Reads, position: int) -> None:
        """Apply the versions up to a position, which is not below the present one.

        Raises LostStateError if the log was cut since.
        """
        newest = newest_row(reads, self._table, position)
        known = reads.version_row(self._table, version=self.row.version)
        if known is None or known.position != self.row.position or newest.version < known.version:
            raise LostStateError
        if newest.version == self.row.version:
            return
        self.shapes.take(definitions(reads, self._table, self.shapes.position, newest.position))
        if self._has_row_ids is not (self.shapes.at(newest.position).shape.has_row_ids):
            # Files get row ids with format 3, also those from before.
            raise LostStateError
        check_decoded(reads, self._table, self.row.position, newest.position)
        rows = list(versions_between(reads, self._table, self.row.version + 1, newest.version))
        self._apply(reads, rows)

    def version_noted(self, snapshot: int) -> int | None:
        """Return the version whose commit noted a snapshot, None if none of the newest did."""
        return self.noted.get(snapshot)

    def snapshot_id(self, version: int) -> int:
        """Return the id that a version's commit noted for its snapshot, else the derived one."""
        noted = self.snapshot_ids.get(version)
        return snapshot_id(self._ledger, self._table, version) if noted is None else noted

    def sequence(self, version: int) -> int:
        """Return the sequence number of the snapshot of a version."""
        return version + self._shift

    def _begin(self, reads: Reads, position: int) -> None:
        newest = newest_row(reads, self._table, position)
        self.shapes.take(definitions(reads, self._table, 0, newest.position))
        self._has_row_ids = self.shapes.at(newest.position).shape.has_row_ids
        first = next(iter(changes_between(reads, self._table, 0, 0, limit=1)), None)
        row = reads.version_row(self._table, version=0)
        noted = row is not None and noted_id(row) is not None
        self._shift = 1 if first is not None or noted else 0
        check_decoded(reads, self._table, 0, newest.position)
        rows, changes = self._replayed(reads, newest)
        self.files = ServedFiles(self.shapes, has_row_ids=self._has_row_ids)
        if rows[0].version > 0:
            self._begin_with_files(reads, rows[0])
        self._apply(reads, rows, changes)
        oldest = max(0, newest.version - NOTED_BACK)
        for each in versions_between(reads, self._table, oldest, rows[0].version - 1):
            self._note(each)

    def _replayed(
        self, reads: Reads, newest: VersionRow
    ) -> tuple[list[VersionRow], dict[int, list[FileChange]]]:
        """Return the newest versions, as many as the known snapshots need, with their changes.

        Recent versions of the oldest listed snapshot have their files in groups of their own.
        """
        rows: list[VersionRow] = []
        changes: dict[int, list[FileChange]] = {}
        count, wanted = 0, -1
        for row in versions_down(reads, self._table, newest.version):
            if 0 <= row.version < wanted:
                break
            found = list(changes_between(reads, self._table, row.version, row.version))
            rows.append(row)
            if found:
                changes[row.version] = found
            if wanted < 0 and (found or noted_id(row) is not None):
                count += 1
                if count == SNAPSHOTS_MAX + KNOWN_BACK:
                    wanted = row.version - row.version % RECENT
        return rows[::-1], changes

    def _begin_with_files(self, reads: Reads, row: VersionRow) -> None:
        before = row.position - 1
        files = reads.files(self._table, position=before)
        removed = RemovedFiles(reads, self._table)
        origins = {each.path: removed.origin(each) for each in files if has_deletes(each)}
        versions = {origin.version for origin in origins.values()}
        versions |= {each.version for each in files}
        for each in versions_among(reads, self._table, versions):
            self._note(each)
        first_rows: dict[tuple[int, str], int] = {}
        if self._has_row_ids:
            for version, own in changes_among(reads, self._table, versions):
                firsts = first_rows_of(version, new_rows(own), self.files.counted)
                first_rows |= {(version, path): first for path, first in firsts.items()}
        last = reads.version_row(self._table, position=before)
        assert last is not None, f"table {self._table} has files before its first version"
        self.files.begin(last.version, files, origins, first_rows, self._has_ids)

    def _has_ids(self, version: int) -> bool:
        """Return whether the files of a version were written with the table's ids."""
        return version in self.snapshot_ids

    def _apply(
        self,
        reads: Reads,
        rows: Sequence[VersionRow],
        changes: Mapping[int, Sequence[FileChange]] | None = None,
    ) -> None:
        if changes is None:
            found = changes_between(reads, self._table, rows[0].version, rows[-1].version)
            changes = {
                version: list(some)
                for version, some in groupby(found, key=lambda each: each.version)
            }
        for row in rows:
            self._note(row)
            own = changes.get(row.version, ())
            self.row = row
            self.versions.append(row)
            if not own and noted_id(row) is None:
                continue
            change = self.files.apply(row.version, own, with_ids=self._has_ids(row.version))
            self.snapshots.append(
                ServedSnapshot(
                    row,
                    self.snapshot_id(row.version),
                    self.sequence(row.version),
                    shown=self.shapes.at(row.position),
                    change=change,
                    files=self.files,
                )
            )

    def _note(self, row: VersionRow) -> None:
        number = noted_id(row)
        if number is not None:
            self.noted[number] = max(row.version, self.noted.get(number, 0))
            self.snapshot_ids[row.version] = number


class RemovedFiles:
    """The files that versions removed, each version read once."""

    def __init__(self, reads: Reads, table: int) -> None:
        self._reads, self._table = reads, table
        self._known: dict[int, dict[str, FileRow]] = {}

    def origin(self, file: FileRow) -> Origin:
        """Return where the rows of a live file were added, before some of them were deleted."""
        while has_deletes(file):
            before = self._of(file.version).get(file.path)
            if before is None or not is_same_data(before, file):
                break
            file = before
        return Origin(file.version, file.added)

    def _of(self, version: int) -> dict[str, FileRow]:
        if version not in self._known:
            found = changes_between(self._reads, self._table, version, version)
            self._known[version] = {each.file.path: each.file for each in found if not each.added}
        return self._known[version]


def newest_row(reads: Reads, table: int, position: int) -> VersionRow:
    """Return the last version of a table up to a position at which it exists."""
    found = reads.version_row(table, position=position)
    assert found is not None, f"table {table} must have a version up to position {position}"
    return found


def check_decoded(reads: Reads, table: int, after: int, position: int) -> None:
    """Raise UnservableError for a commit whose list of files cannot be decoded."""
    found = unreadable(reads, table, after, position)
    if found:
        raise UnservableError(
            f"the commit at position {found} has a file list that cannot be decoded"
        )


def definitions(reads: Reads, table: int, after: int, position: int) -> Sequence[DefinitionRow]:
    """Return the definitions of a table behind one position and up to another."""
    return reads.definitions(table, position, after=after)


def changes_between(
    reads: Reads, table: int, first: int, last: int, limit: int | None = None
) -> Iterator[FileChange]:
    """Yield the changes of versions in order, read in pages."""
    place, size = 0, CHANGES if limit is None else limit
    while True:
        page = reads.file_changes(table, first, last, size, place=place)
        yield from page
        if len(page) < size or limit is not None:
            return
        first, place = page[-1].version, page[-1].place


def changes_among(
    reads: Reads, table: int, wanted: Iterable[int]
) -> Iterator[tuple[int, list[FileChange]]]:
    """Yield the changes of some versions in order; near ones are read together."""
    runs: list[list[int]] = []
    for version in sorted(wanted):
        if runs and version - runs[-1][-1] <= APART_MAX:
            runs[-1].append(version)
        else:
            runs.append([version])
    for run in runs:
        known = set(run)
        found = changes_between(reads, table, run[0], run[-1])
        for version, some in groupby(found, key=attrgetter("version")):
            if version in known:
                yield version, list(some)


def versions_down(reads: Reads, table: int, version: int, first: int = 0) -> Iterator[VersionRow]:
    """Yield versions from one on down to another, read in pages."""
    below = version + 1
    while below > first:
        size = min(PAGE, below - first)
        page = reads.versions(table, size, below=below)
        yield from (each for each in page if each.version >= first)
        if len(page) < size:
            return
        below = page[-1].version


def versions_between(reads: Reads, table: int, first: int, last: int) -> Sequence[VersionRow]:
    """Return versions in order."""
    return list(versions_down(reads, table, last, first))[::-1]


def versions_among(reads: Reads, table: int, wanted: Iterable[int]) -> Iterator[VersionRow]:
    """Yield some versions, newest first; a page of neighbours is read at once."""
    left = sorted(wanted)
    while left:
        page = reads.versions(table, PAGE, below=left[-1] + 1)
        if not page:
            return
        last = page[-1].version
        known = set()
        while left and left[-1] >= last:
            known.add(left.pop())
        yield from (each for each in page if each.version in known)
