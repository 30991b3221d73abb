"""Gathers footprints: the reads and writes of one txn in a table, file by file.

The result is the `Footprint` of a commit. Path and deletion vector together identify a file here; a
decision knows files by the hash of their path.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from ledger.core.commands import AppVersion, Domain, Footprint, Protocol
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, joined_names, packed, path_hash
from ledger.core.limits import ROWS_PER_WRITE_MAX
from ledger.core.partitions.file_paths import path_key
from ledger.core.partitions.names import Values, partition_text
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.core.predicates.tree import node_of, read_wire
from ledger.core.rows.changes import RowChanges
from ledger.definitions.given import check_text, shown
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, listed, removed
from ledger.reads.port import FileRow
from ledger.snapshot.reading import TableFiles
from ledger.work.given_files import Listed, RemoveLike
from ledger.work.noted_rows import NotedRows, StatementRows
from ledger.work.recorded_conditions import recorded

ROW_COUNT: Final = "numRecords"
# A backfill gives ids to existing rows; an un-backfill only takes ids away.
NUMBERS_ALL: Final = "ROW TRACKING BACKFILL"

FileKey = tuple[str, str]


class FootprintWriter:
    """Gathers the footprint of one table part of a commit."""

    def __init__(self) -> None:
        self._operations: dict[str, None] = {}
        self._usual_operation = ""
        self._scans: dict[str, None] = {}
        self._reads_whole = False
        # Files added up to here may have the values of other partition columns than the present.
        self._partitioned = 0
        self._read: dict[str, FileRow] = {}
        # The files of which any change counts, not only that of the rows that are noted.
        self._read_whole: dict[str, None] = {}
        self._rows = NotedRows()
        self._location = ""
        # By key; filled when a path is named in another spelling than it was read.
        self._keys: dict[str, FileRow] | None = None
        self._adds: dict[FileKey, AddFile] = {}
        self._removes: dict[FileKey, RemoveFile] = {}
        self._protocol: Protocol | None = None
        self._domains: dict[str, Domain] = {}

    @property
    def is_written(self) -> bool:
        """Whether anything but reading was noted."""
        return bool(self._operations or self._usual_operation)

    @property
    def files(self) -> Sequence[AddFile | RemoveFile]:
        """The files added and removed."""
        return [*self._adds.values(), *self._removes.values()]

    @property
    def added(self) -> Sequence[AddFile]:
        """The files added, and files after their marks."""
        if self._rows.is_empty:
            return list(self._adds.values())
        return [*self._adds.values(), *(after for _, after in self._rows.pairs)]

    def row_changes(self) -> RowChanges | None:
        """Return what the part read and wrote row by row, None if its grain is the file."""
        if self._rows.is_empty and len(self._read) == len(self._read_whole):
            return None
        scanned = packed(path for path in self._read if path not in self._read_whole)
        return self._rows.changes(scanned, list(self._adds.values()))

    def marked_in(self) -> Sequence[str] | None:
        """Return the partitions of files with marks, None if one is not known."""
        found = [self.removal(file)[1] for file, _ in self._rows.pairs]
        known = [partition_text(values) for values in found if values is not None]
        return list(dict.fromkeys(known)) if len(known) == len(found) else None

    @property
    def read_files(self) -> bytes:
        """The hashes of the files read, b"" for a table that was read as a whole."""
        return b"" if self._reads_whole else packed(self._read_whole)

    def read(self, files: TableFiles, *, by_row: bool = False) -> None:
        """Note a scan and the files it returned.

        `by_row`: of these files only the rows count that the statement notes.
        """
        if not by_row:
            self._read_whole.update(dict.fromkeys(file.path for file in files))
        self._scans[recorded(files.where, files.table.definition)] = None
        self._reads_whole |= files.whole
        self._partitioned = max(self._partitioned, files.table.partitioned)
        self._read.update((file.path, file) for file in files)
        self._location = files.table.definition.location
        self._keys = None

    def scanned_columns(self) -> Sequence[str]:
        """Return the columns that the conditions of the noted scans name."""
        trees = (node_of(read_wire(scan)[0]) for scan in self._scans)
        return list(dict.fromkeys(name for tree in trees for name in tree.columns()))

    def adds(self, path: str, vector: str) -> bool:
        """Return whether the part adds a file under a vector."""
        return (path, vector) in self._adds

    def name(self, operation: str) -> None:
        """Add the name of an operation, in Delta's words; raises TypeError unless it is a text."""
        check_text("an operation", operation)
        self._operations[operation] = None

    def add(self, files: Iterable[AddFile]) -> None:
        """Note files added, by a WRITE unless another operation is named.

        Raises ValueError for a file that was noted before; then no file of the call is noted.
        """
        self._take((), files)
        self._usual_operation = "WRITE"

    def remove(self, files: Iterable[RemoveLike], partitioned: int = 0) -> None:
        """Note files removed, by a DELETE unless files are added too or another name is given.

        `partitioned` is the position at which the table got its partition columns: the partition of
        a file added up to that position is not known. Raises as `add`.
        """
        self._partitioned = max(self._partitioned, partitioned)
        self._take(map(self._removed, files), ())
        self._usual_operation = self._usual_operation or "DELETE"

    def read_whole(self) -> None:
        """Note that the part depends on every file of the table."""
        self._scans[TRUE_PREDICATE] = None
        self._reads_whole = True

    def rewrite(
        self, removes: Iterable[RemoveLike], adds: Iterable[AddFile], partitioned: int = 0
    ) -> None:
        """Note that the same rows are now in other files: an OPTIMIZE unless named otherwise.

        `partitioned` as for `remove`. Raises as `add`.
        """
        self._partitioned = max(self._partitioned, partitioned)
        gone = (self._removed(remove)._replace(data_change=False) for remove in removes)
        self._take(gone, (add._replace(data_change=False) for add in adds))
        self._usual_operation = "OPTIMIZE"

    def replace(
        self, removes: Iterable[FileRow], adds: Iterable[AddFile], partitioned: int = 0
    ) -> Sequence[str]:
        """Note files whose rows a statement has changed, and return the paths of own ones.

        A file that the txn added itself is taken back: it is in no commit. `partitioned` is as for
        `remove`. Raises as `add`.
        """
        self._partitioned = max(self._partitioned, partitioned)
        rows = list(removes)
        if not self._rows.is_empty:
            rows = [self._rows.unmarked(row) for row in rows]
        own = [key for row in rows if (key := (row.path, row.vector)) in self._adds]
        gone = [row for row in rows if (row.path, row.vector) not in self._adds]
        taken = [self._adds.pop(key) for key in own]
        if own and not self._rows.is_empty:
            self._rows.take_back(path for path, _ in own)
        try:
            self._take(map(self._removed, gone), adds)
        except BaseException:
            self._adds.update(zip(own, taken, strict=True))
            raise
        if not all(each.data_change for each in taken):
            # The rows of a file that was only moved are changed after all. Which files they came
            # from is not known, so all files of the txn count as changed, new ones too.
            self._removes = {
                key: each._replace(data_change=True) for key, each in self._removes.items()
            }
            self._adds = {key: each._replace(data_change=True) for key, each in self._adds.items()}
        return [path for path, _ in own]

    def note_rows(self, rows: StatementRows) -> None:
        """Note what a statement did row by row; its files are noted by `replace` or `rewrite`."""
        self._rows.take(rows)
        self._read.update((file.path, file) for file, _ in rows.pairs)

    @property
    def removed(self) -> Collection[FileKey]:
        """The files removed, each a path and its deletion vector, and files before their marks."""
        if self._rows.is_empty:
            return self._removes.keys()
        return [*self._removes, *((file.path, file.vector) for file, _ in self._rows.pairs)]

    def removal(self, file: RemoveLike) -> RemoveFile:
        """Return the removal of a file, with its partition if a read of this txn knows it.

        Raises TypeError for anything but a file.
        """
        match file:
            case RemoveFile():
                return file
            case AddFile():
                return removal_from(file, file.partition)
            case FileRow():
                known = tuple(file.partition) if file.added > self._partitioned else None
                return removal_from(file, known)
            case str():
                found = self._read.get(file) or self._spelled(file)
                return RemoveFile(file) if found is None else self.removal(found)
            case other:
                raise TypeError(
                    f"a file to remove must be a file that was read, or a path, got {shown(other)}"
                )

    def set_protocol(self, protocol: Protocol) -> None:
        """Note a protocol action."""
        self._usual_operation = self._usual_operation or "UPGRADE PROTOCOL"
        self._protocol = protocol

    def set_domain(self, domain: Domain) -> None:
        """Note a domain metadata entry."""
        self._usual_operation = self._usual_operation or "Manual Update"
        self._domains[domain.name] = domain

    def paths_of(self, hashed: bytes) -> Sequence[str]:
        """Return the noted paths that have a hash."""
        paths = dict.fromkeys([*self._read, *(file.path for file in self.files)])
        return [path for path in paths if path_hash(path) == hashed]

    def head(self, apps: Sequence[AppVersion] = ()) -> Footprint:
        """Return the footprint without files: the commit is judged by it, whatever was staged."""
        usual = self._usual_operation or ("WRITE" if apps else "")
        return EMPTY_FOOTPRINT._replace(
            operation=joined_names(self._operations) or usual,
            reads=list(self._scans),
            reads_whole=self._reads_whole,
            read_apps=[app.app for app in apps],
            protocol=self._protocol,
            domains=[self._domains[name] for name in sorted(self._domains)],
            apps=list(apps),
        )

    def with_files(
        self, footprint: Footprint, files: Sequence[AddFile | RemoveFile], info: str = ""
    ) -> Footprint:
        """Return a footprint with some of the noted files, and with the info of its commit.

        The rows of a backfill count, although they existed before. More rows than a footprint may
        add count as 0: such statistics cannot be right.
        """
        adds = [file for file in files if isinstance(file, AddFile)]
        removes = [file for file in files if isinstance(file, RemoveFile)]
        found = listed(footprint, FileList(adds, removes, info))
        numbers_all = self._numbers_all()
        rows = sum(rows_of(add.stats) for add in adds if add.data_change or numbers_all)
        # A file of an unknown partition may lie in any partition, also in one of other chunks.
        known = found.removes_in if self._knows_partitions() else ()
        return found._replace(
            rows_added=rows if rows <= ROWS_PER_WRITE_MAX else 0, removes_in=known
        )

    def _numbers_all(self) -> bool:
        is_backfill = [*self._operations] == [NUMBERS_ALL]
        return is_backfill and not any(file.data_change for file in self.files)

    def _knows_partitions(self) -> bool:
        return all(remove.partition is not None for remove in self._removes.values())

    def _spelled(self, path: str) -> FileRow | None:
        """Return a file that was read under another spelling of the path, None if absent.

        An escape stands for itself: in a table of the ledger, `a%20b` and `a b` are two files.
        """
        if self._keys is None:
            rows = self._read.values()
            self._keys = {path_key(row.path, self._location): row for row in rows}
        return self._keys.get(path_key(path, self._location))

    def _removed(self, file: RemoveLike) -> RemoveFile:
        return removed(*self.removal(file))

    def _take(self, removes: Iterable[RemoveFile], adds: Iterable[AddFile]) -> None:
        """Note files; note nothing if a file is refused or the iterable raises."""
        gone = by_key(removes)
        new = by_key(adds)
        for key in (*gone, *new):
            if key in self._adds or key in self._removes or (key in gone and key in new):
                raise twice(key)
        self._removes.update(gone)
        self._adds.update(new)


def removal_from(file: AddFile | FileRow, partition: Values | None) -> RemoveFile:
    """Return the removal of a file, with the same deletion vector, tags and row ids."""
    return RemoveFile(
        file.path,
        partition,
        vector=file.vector,
        deletion_vector=file.deletion_vector,
        tags=file.tags,
        base_row_id=file.base_row_id,
        row_version=file.row_version,
    )


def by_key(files: Iterable[Listed]) -> dict[FileKey, Listed]:
    """Return files by path and vector; raises ValueError for a file that occurs twice."""
    found: dict[FileKey, Listed] = {}
    for file in files:
        key = file.path, file.vector
        if key in found:
            raise twice(key)
        found[key] = file
    return found


def twice(key: FileKey) -> ValueError:
    """Return the error for a file that was noted before."""
    return ValueError(
        f"file {key[0]} is added or removed twice in one txn. A read shows the commits before the "
        "txn opened: it still shows a file that the txn has removed, and does not show a file that "
        "the txn has added. Change the rows of a file once, with all changes together. Or use two "
        "txns, and let the second read what the first has committed"
    )


def rows_of(stats: str) -> int:
    """Return the row count in the statistics of a file, 0 if it is missing or wrong."""
    try:
        found = json.loads(stats) if stats else {}
    except (ValueError, RecursionError):
        return 0
    count = found.get(ROW_COUNT, 0) if isinstance(found, dict) else 0
    return count if isinstance(count, int) and 0 < count <= ROWS_PER_WRITE_MAX else 0
