"""Vacuum: deletes files below the locations of tables that no reader needs and no commit can name.

A file stays if a table names it and it is live, or was removed so late that a snapshot of an open
txn or the retention protects it. Other files are released: a commit removed them, or their table
was dropped; or they are orphans: no commit named them. An orphan stays while its writer may still
commit it. In doubt a file stays.

The storage is listed first. Then the rows must reach the end of the log, and they must do so again,
with what was committed meanwhile, before each batch of deletes; where they stay behind, the vacuum
stops. Ages are counted from the clock of
the ledger or of the storage, whichever is earlier. A killed vacuum leaves nothing half done, and
can be run again.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from ledger.core.conflicts.footprints import path_hash
from ledger.core.state.tables import name_key
from ledger.definitions.names import TableLike
from ledger.errors import LedgerError, ReaderBehindError
from ledger.files.places import FileKeys
from ledger.files.storage import Storage, StoredFile
from ledger.reads.port import Reads, TableRow
from ledger.snapshot.reading import check_listed, is_in_folders
from ledger.tables.cleaned_folder import CleanedFolder
from ledger.tables.needed_files import HOUR_MS, NeededFiles, Owners
from ledger.tables.vacuum_report import VacuumedFile, VacuumReport, Why

GRACE_H: Final = 168.0
BATCH: Final = 500
LOOKS: Final = 1_000
APART_H: Final = 1.0
"""Clocks that differ by more are named in the report."""

Progress = Callable[[int, int], None]

Look = Callable[[], int]
"""Waits until the rows are at the end of the log, and returns the ledger's time, 0 = unknown."""


def without_waiting() -> int:
    """Look at reads that are never behind the log, such as those of a log in memory."""
    return 0


class Choice(NamedTuple):
    """A stored file that may go; `keys` are those of its path."""

    folder: CleanedFolder
    file: StoredFile
    keys: tuple[int, ...]
    why: Why = "orphan"


class Vacuum:
    """One run over a table, or over several.

    `look` waits for the end of the log. `now_ms` is the time of this host. A `storage` is that of
    the only table. With `is_lenient` a location that cannot be cleaned is a note in its report.
    With `only`, paths as the log has them, no other file goes.
    """

    def __init__(
        self,
        reads: Reads,
        tables: TableRow | Sequence[TableRow],
        older_than_h: float = GRACE_H,
        now_ms: int = 0,
        storage: Storage | None = None,
        *,
        look: Look = without_waiting,
        is_lenient: bool = False,
        only: Collection[str] | None = None,
    ) -> None:
        if not older_than_h >= 0:
            raise ValueError(f"older_than_h must be 0 or more hours, got {older_than_h}")
        self._tables = [tables] if isinstance(tables, TableRow) else list(tables)
        self._reads = reads
        self._look = look
        self._now_ms = now_ms or time.time_ns() // 1_000_000
        self._grace_ms = round(older_than_h * HOUR_MS)
        self._storage = storage
        self._is_lenient = is_lenient
        self._only = only
        self._note = ""
        self._stopped_by: ReaderBehindError | None = None

    def run(
        self, *, dry_run: bool = False, progress: Progress = lambda _done, _all: None
    ) -> VacuumReport:
        """Find what may go, and delete it unless this is a dry run; the report is of the first.

        Raises FilesUnknownError if a table whose files the ledger does not list shares the
        location, and FileListError if a commit has a list that cannot be decoded.
        """
        folders = self._gathered()
        found = self._run(folders, progress, dry_run=dry_run)
        files = [vacuumed(each, is_home=each.folder is folders[0]) for each in found]
        notes = dict.fromkeys([*(folder.note for folder in folders), self._note])
        note = ". ".join(filter(None, notes))
        return VacuumReport(self._tables[0], dry_run, sorted(files), note, self._stopped_by)

    def run_all(
        self, *, dry_run: bool = False, progress: Progress = lambda _done, _all: None
    ) -> Sequence[VacuumReport]:
        """Do as `run`, and return a report for each location with files that may go, or a note."""
        folders = self._gathered()
        found = self._run(folders, progress, dry_run=dry_run)
        reports = []
        for folder in folders:
            files = sorted(vacuumed(each) for each in found if each.folder is folder)
            note = ". ".join(filter(None, (folder.note, self._note if files else "")))
            if files or note or self._stopped_by:
                report = VacuumReport(folder.table, dry_run, files, note, self._stopped_by)
                reports.append(report)
        return reports

    def _gathered(self) -> Sequence[CleanedFolder]:
        """Return the folders of the tables, each once."""
        found: dict[object, CleanedFolder] = {}
        for table in self._tables:
            folder = CleanedFolder(table.definition.location, self._storage)
            folder = found.setdefault(folder.place.inode or folder.location, folder)
            folder.tables.append(table)
            with self._noting(folder):
                check_listed(table)
        return list(found.values())

    @contextmanager
    def _noting(self, folder: CleanedFolder) -> Iterator[None]:
        """Note the error of a folder in its report, and leave its files alone."""
        try:
            yield
        except LedgerError as problem:
            if not self._is_lenient:
                raise
            folder.leave(str(problem))

    def _run(
        self, folders: Sequence[CleanedFolder], progress: Progress, *, dry_run: bool
    ) -> Sequence[Choice]:
        for folder in folders:
            with self._noting(folder):
                folder.list(self._now_ms - self._grace_ms)
        keys = FileKeys()
        chosen = [
            Choice(folder, file, tuple(keys.at(f"{folder.location}/{file.path}")))
            for folder in folders
            for file in folder.stored
        ]
        if self._only is not None:
            location = self._tables[0].definition.location
            wanted = {key for path in self._only for key in keys.of(location, path)}
            chosen = [each for each in chosen if not wanted.isdisjoint(each.keys)]
        if not chosen and not any(each.is_left for each in folders):
            return []
        if (at := self._looked()) is None:
            return []
        tables = self._reads.tables(include_dropped=True)
        clocks = [at]
        for folder in folders:
            with self._noting(folder):
                folder.look_around(tables)
                if folder.stored and not dry_run:
                    clocks.append(folder.storage.now_ms() or at)
        now = min(*clocks, self._now_ms)
        self._note = apart([*clocks, self._now_ms])
        needed = NeededFiles(
            self._reads,
            keys,
            wanted={key for each in chosen for key in each.keys},
            horizon=at - self._grace_ms,
            kept_whole={table for each in folders if each.is_foreign for table in each.sharing},
        )
        needed.note_later()
        owners = Owners(self._reads, now, self._grace_ms)
        before = now - self._grace_ms
        chosen = [
            each
            for each in chosen
            if each.file.modified <= before and not each.folder.is_left_alone
        ]
        free = list(self._free(chosen, needed, owners, progress))
        # A txn that had ended when it was looked up may have committed after its table was read.
        needed.note_later()
        free = [each for each in free if needed.are_free(each.keys)]
        free.sort(key=lambda each: (each.folder.location, each.file.path))
        if dry_run:
            return free
        gone = list(self._deleted(free, needed, progress))
        for folder in folders:
            if folder.sharing and folder.sharing <= needed.dead and not self._stopped_by:
                folder.remove_empty()
        return gone

    def _looked(self) -> int | None:
        """Return the ledger's time at the end of the log, None where the rows stay behind it."""
        try:
            return self._look() or self._now_ms
        except ReaderBehindError as behind:
            self._stopped_by = behind
            return None

    def _free(
        self, chosen: Sequence[Choice], needed: NeededFiles, owners: Owners, progress: Progress
    ) -> Iterator[Choice]:
        """Yield the files that nothing needed when they were looked up."""
        for number, each in enumerate(chosen):
            if not number % LOOKS:
                progress(number, len(chosen))
            folder, file = each.folder, each.file
            if not needed.are_free(each.keys) or not folder.holds(file.path):
                continue
            named = path_hash(file.path)
            if any(self._reads.file_paths(table.table, named) for table in folder.tables):
                yield each._replace(why="released")
            elif not folder.spares(file) and not owners.may_commit(file):
                yield each

    def _deleted(
        self, free: Sequence[Choice], needed: NeededFiles, progress: Progress
    ) -> Iterator[Choice]:
        """Delete files, and yield those that were there."""
        for at in range(0, len(free), BATCH):
            if self._looked() is None:
                return
            needed.note_later()
            for each in free[at : at + BATCH]:
                is_free = needed.are_free(each.keys) and each.folder.is_as_listed(each.file)
                if is_free and each.folder.storage.delete(each.file.path):
                    yield each
            progress(min(at + BATCH, len(free)), len(free))


def vacuumed(found: Choice, *, is_home: bool = True) -> VacuumedFile:
    """Return a file for a report; away from its home it has an absolute path."""
    path = found.file.path if is_home else f"{found.folder.location}/{found.file.path}"
    return VacuumedFile(path, found.file.size, found.why)


def apart(clocks: Sequence[int]) -> str:
    """Return in words that clocks differ by much, "" if they agree."""
    hours = (max(clocks) - min(clocks)) / HOUR_MS
    if hours < APART_H:
        return ""
    return (
        f"the clocks of the ledger, the storage and this host differ by {hours:.1f} h: ages are "
        "counted from the earliest, so files may stay longer"
    )


def cleaned_tables(
    reads: Reads, catalog: str, table: TableLike | None = None
) -> Sequence[TableRow]:
    """Return the tables that the vacuum of a table cleans, that one first, or those of a catalog.

    With a table that exists, or with a name, go the dropped tables that had the name.
    """
    every = [each for each in reads.tables(include_dropped=True) if not each.creator]
    if table is None:
        return [each for each in every if each.catalog == catalog and each.definition.location]
    if isinstance(table, str):
        name = name_key(catalog, table)
        rows = []
    else:
        number = table.table if isinstance(table, TableRow) else table
        rows = [each for each in every if each.table == number]
        if not rows or rows[0].dropped:
            return rows
        name = name_key(rows[0].catalog, rows[0].name)
    named = [each for each in every if name_key(each.catalog, each.name) == name]
    now = [each for each in named if not each.dropped]
    former = [each for each in named if each.dropped and is_cleaned(each)]
    return [*now, *reversed(former)]


def is_cleaned(table: TableRow) -> bool:
    """Return whether a vacuum knows the files of a table."""
    return bool(table.definition.location) and not is_in_folders(table)
