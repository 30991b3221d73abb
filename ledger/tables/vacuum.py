"""Vacuum: deletes files below the location of a table that no reader needs and no commit can name.

A file stays if a table names it and it is live, or was removed so late that a snapshot of an open
txn or the grace period protects it. Other files are released: a commit removed them; or they are
orphans: no commit named them. An orphan stays while its writer may still commit it. In doubt a file
stays.

The storage is listed first, then the ledger is read, and what was committed meanwhile is read again
before each batch of deletes. A killed vacuum leaves nothing half done, and can be run again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from ledger.core.conflicts.footprints import path_hash
from ledger.core.partitions.file_paths import normal
from ledger.errors import FileListError, FilesUnknownError
from ledger.reads.html import table_of
from ledger.reads.port import FileRow, Reads, TableRow, TxnRow
from ledger.sdk.reading import check_listed, is_in_folders
from ledger.tables.changes import unreadable
from ledger.tables.data_files import writer_txn
from ledger.tables.places import Place
from ledger.tables.storage import Storage, StoredFile, storage_at

GRACE_H: Final = 168.0
UNSURE_H: Final = 24.0
"""The least age of an orphan whose writer is not a txn that has ended."""

SKEW_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
PAGE: Final = 10_000
BATCH: Final = 500
TXNS: Final = 100_000
SUFFIX: Final = ".parquet"
FOREIGN: Final = ("_delta_log/", ".hoodie/", "metadata/")
"""The folders of a location in which another format keeps its own list of files."""

LOOKS: Final = 1_000

Progress = Callable[[int, int], None]
Why = Literal["released", "orphan"]


class VacuumedFile(NamedTuple):
    """A file that was deleted, or would be; `path` is below the location."""

    path: str
    size: int
    why: Why


@dataclass(frozen=True, slots=True)
class VacuumReport:
    """What a vacuum deleted, or would delete if it was a dry run; `note` says what it left out."""

    table: TableRow
    dry_run: bool
    files: Sequence[VacuumedFile] = field(repr=False)
    note: str = ""

    @property
    def size(self) -> int:
        """The bytes of the files."""
        return sum(each.size for each in self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"<VacuumReport: {self._said()}>"

    def _repr_html_(self) -> str:
        title = ". ".join(filter(None, (self._said(), self.note)))
        return table_of(title, VacuumedFile._fields, self.files)

    def _said(self) -> str:
        count = f"{len(self.files)} file{'' if len(self.files) == 1 else 's'}"
        done = "would go from" if self.dry_run else "gone from"
        return f"{count} of {self.size} bytes {done} {self.table.name}"


class Vacuum:
    """One run over a table; `now_ms` is the time that ages are counted from."""

    def __init__(
        self,
        reads: Reads,
        table: TableRow,
        older_than_h: float = GRACE_H,
        now_ms: int = 0,
        storage: Storage | None = None,
    ) -> None:
        if not older_than_h >= 0:
            raise ValueError(f"older_than_h must be 0 or more hours, got {older_than_h}")
        check_listed(table)
        self._reads = reads
        self._table = table
        self._storage = storage or storage_at(table.definition.location)
        self._place = Place(table.definition.location)
        self._now_ms = now_ms or time.time_ns() // 1_000_000
        self._grace_ms = round(older_than_h * HOUR_MS)
        self._needed: set[int] = set()
        self._seen: dict[int, int] = {}
        self._note_kept = ""

    def run(
        self, *, dry_run: bool = False, progress: Progress = lambda _done, _all: None
    ) -> VacuumReport:
        """Find what may go, and delete it unless this is a dry run.

        Raises FilesUnknownError if a table whose files the ledger does not list shares the
        location, and FileListError if a commit has a list that cannot be decoded.
        """
        found = list(self._deletable(progress))
        # A txn that had ended when it was looked up may have committed after its table was read.
        self._note_later()
        chosen = sorted(each for each in found if self._is_free(each.path))
        if dry_run:
            return VacuumReport(self._table, dry_run, chosen, self._note_kept)
        gone: list[VacuumedFile] = []
        for at in range(0, len(chosen), BATCH):
            batch = chosen[at : at + BATCH]
            self._note_later()
            gone += [
                each
                for each in batch
                if self._is_free(each.path) and self._storage.delete(each.path)
            ]
            progress(len(gone), len(chosen))
        return VacuumReport(self._table, dry_run, gone, self._note_kept)

    def _deletable(self, progress: Progress) -> Iterator[VacuumedFile]:
        """Yield the files that nothing needed when they were looked up."""
        stored = self._candidates()
        if not stored:
            return
        nested = self._note_needed()
        owners = Owners(self._reads, self._now_ms, self._grace_ms)
        for number, file in enumerate(stored):
            if not number % LOOKS:
                progress(number, len(stored))
            name = file.path
            if not self._is_free(name) or any(name.startswith(f"{each}/") for each in nested):
                continue
            if not self._place.is_plain(name):
                continue
            if self._reads.file_paths(self._table.table, path_hash(name)):
                yield VacuumedFile(name, file.size, "released")
            elif not self._note_kept and not owners.may_commit(file):
                yield VacuumedFile(name, file.size, "orphan")

    def _candidates(self) -> Sequence[StoredFile]:
        """Return the stored files that may go, and note whether another format lists files."""
        found: list[StoredFile] = []
        for file in self._storage.list():
            if file.path.startswith(FOREIGN):
                self._note_kept = (
                    f"files that no commit named stay: {file.path.partition('/')[0]} has a list of "
                    "another format, which may name them"
                )
            elif self._is_candidate(file):
                found.append(file)
        return found

    def _is_candidate(self, file: StoredFile) -> bool:
        """Return whether a file is old enough, and a data file of a folder that is not hidden."""
        folders = file.path.split("/")
        is_hidden = any(each[:1] in "._" and "=" not in each for each in folders)
        is_old = file.modified <= self._now_ms - self._grace_ms
        return is_old and not is_hidden and file.path.endswith(SUFFIX)

    def _is_free(self, name: str) -> bool:
        return hash(normal(name)) not in self._needed

    def _note_needed(self) -> set[str]:
        """Note what the tables of the ledger need; return the folders here of other tables."""
        here = self._table.definition.location
        nested: set[str] = set()
        for table in self._reads.tables(include_dropped=True):
            location = table.definition.location
            if table.table == self._table.table or not location:
                continue
            folders = self._place.folders(location)
            nested |= folders - {""}
            is_here = "" in folders or bool(Place(location).folders(here))
            if is_here and is_in_folders(table) and not table.dropped:
                raise FilesUnknownError(
                    f"table {table.name} has the location {location} too, and the ledger does not "
                    f"list its files, so they may be taken for files of table {self._table.name}. "
                    "Give one of the tables another location",
                    table=self._table.table,
                )
        self._note_later()
        return nested

    def _note_later(self) -> None:
        """Note the files that commits named since the last look, in all tables."""
        for table in self._reads.tables(include_dropped=True):
            if is_in_folders(table) or table.creator:
                continue
            if table.table not in self._seen:
                self._note_live(table)
            if self._seen[table.table] < table.version:
                self._note_changes(table)

    def _note_live(self, table: TableRow) -> None:
        """Note the live files of a table; of a dropped one, those that it had in the end."""
        check_decoded(self._reads, table)
        position = table.dropped - 1 if table.dropped else self._reads.position()
        self._seen[table.table] = self._protected_from(table)
        path = vector = ""
        while True:
            page = self._reads.files(
                table.table, position=position, limit=PAGE, path=path, vector=vector
            )
            for file in page:
                self._note(table, file)
            if len(page) < PAGE:
                return
            path, vector = page[-1].path, page[-1].vector

    def _note_changes(self, table: TableRow) -> None:
        """Note what the versions behind the last seen one added and removed."""
        first, place = self._seen[table.table] + 1, 0
        while True:
            page = self._reads.file_changes(table.table, first, table.version, PAGE, place=place)
            for change in page:
                self._note(table, change.file)
            if len(page) < PAGE:
                break
            first, place = page[-1].version, page[-1].place
        self._seen[table.table] = table.version

    def _protected_from(self, table: TableRow) -> int:
        """Return the version whose removals, and earlier ones, nothing protects any more."""
        at = max(1, self._now_ms - self._grace_ms)
        old = self._reads.version_row(table.table, at=at)
        mark = self._reads.table_mark(table.table).version
        return min(mark, -1 if old is None else old.version)

    def _note(self, table: TableRow, file: FileRow) -> None:
        names = self._place.names(table.definition.location, file.path)
        self._needed.update(map(hash, names))


class Owners:
    """Says whether a file that no commit named may still be committed."""

    def __init__(self, reads: Reads, now_ms: int, grace_ms: int) -> None:
        self._reads = reads
        writing = [each.opened_at for each in reads.open_txns(TXNS) if each.type != "read_only"]
        unsure = now_ms - max(grace_ms, round(UNSURE_H * HOUR_MS))
        self._before = min([unsure, *(each - SKEW_MS for each in writing)])
        self._known: dict[int, TxnRow | None] = {}

    def may_commit(self, file: StoredFile) -> bool:
        """Return whether the writer of a file may still commit it."""
        number = writer_txn(file.path)
        if number:
            if number not in self._known:
                self._known[number] = self._reads.txn(number)
            if (writer := self._known[number]) is not None:
                return writer.status == "open"
        return file.modified > self._before


def check_decoded(reads: Reads, table: TableRow) -> None:
    """Raise FileListError if a commit of a table has a list that cannot be decoded."""
    found = unreadable(reads, table.table, 0, reads.position())
    if found:
        raise FileListError(
            f"the commit at position {found} of table {table.name} has a file list that cannot be "
            "decoded, so files that it added may look like orphans. Nothing was deleted"
        )
