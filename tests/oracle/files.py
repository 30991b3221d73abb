"""Files as a state in memory knows them: every one that a commit named, live or not, for ever.

The counterpart of `projections.rows.files` for `tests.oracle.reads`: it looks through all
there ever was, where rows are found by their keys.
"""

from collections.abc import Iterable, Sequence
from math import inf

from ledger.core.commands import Footprint
from ledger.core.conflicts.footprints import path_hash
from ledger.core.events.parts import CommittedPart
from ledger.errors import FileListError
from ledger.log.file_extras import Tags
from ledger.log.file_list import AddFile, FileList, RemoveFile, records_again, unpack_chunks
from ledger.reads.port import AnomalyRow, FileChange, FileRow


class StateFiles:
    """The files of all tables; `anomalies` are in the order in which they were found."""

    def __init__(self) -> None:
        self._files: dict[int, list[FileRow]] = {}
        self._live: dict[tuple[int, str, str], int] = {}
        self._paths: dict[tuple[int, bytes], set[str]] = {}
        self._changes: dict[int, list[FileChange]] = {}
        self.anomalies: list[AnomalyRow] = []

    def note(self, position: int, part: CommittedPart, chunks: Iterable[Footprint]) -> FileList:
        """Apply what a part of a commit lists in all its chunks, and return it."""
        try:
            files = unpack_chunks(chunks)
        except FileListError:
            self._anomaly(position, part.table, "unreadable_list")
            return FileList()
        for gone in files.removes:
            if not self._remove(position, part.table, gone.path, gone.vector):
                self._anomaly(position, part.table, "removed_not_live", gone.path, gone.vector)
        is_again = records_again(part, files)
        for new in files.adds:
            was_live = self._remove(position, part.table, new.path, new.vector)
            if is_again and not was_live:
                continue
            if was_live and not is_again:
                self._anomaly(position, part.table, "added_live", new.path, new.vector)
            self._add(position, part, new)
        self._note_changes(position, part, files)
        return files

    def files(self, table: int, position: int) -> Sequence[FileRow]:
        """Return the files that were live at a position, by path and vector."""
        found = (
            each
            for each in self._files.get(table, ())
            if each.added <= position and (not each.removed or each.removed > position)
        )
        return sorted(found, key=lambda each: (each.path, each.vector))

    def released(self, table: int, position: int) -> Sequence[FileRow]:
        """Return the paths removed for the last time up to a position, in order of that."""
        ever, last = self._files.get(table, ()), dict[str, float]()
        for each in ever:
            last[each.path] = max(last.get(each.path, 0), each.removed or inf)
        gone = {
            (each.removed, each.path): each
            for each in sorted(ever, key=lambda each: each.vector, reverse=True)
            if each.removed == last[each.path] <= position
        }
        return [each for _, each in sorted(gone.items())]

    def changes(self, table: int) -> Sequence[FileChange]:
        """Return all that commits added and removed, in order."""
        return self._changes.get(table, ())

    def paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        """Return the paths that were named and go by a hash."""
        return sorted(self._paths.get((table, path_hash), ()))

    def _note_changes(self, position: int, part: CommittedPart, files: FileList) -> None:
        said = {(each.path, each.vector): each.data_change for each in files.adds}
        first: list[AddFile | RemoveFile] = list(files.removes)
        first = [*first, *files.adds][::-1]
        gone = {(each.path, each.vector): each.data_change for each in first}
        changes = self._changes.setdefault(part.table, [])
        for each in self._files.get(part.table, ()):
            if each.removed == position > each.added:
                how = False, gone[each.path, each.vector], each
            elif each.added == position and not each.removed:
                how = True, said[each.path, each.vector], each
            else:
                continue
            changes.append(FileChange(part.version, len(changes) + 1, *how))

    def _add(self, position: int, part: CommittedPart, file: AddFile) -> None:
        ever = self._files.setdefault(part.table, [])
        self._live[part.table, file.path, file.vector] = len(ever)
        ever.append(
            FileRow(
                part.table,
                file.path,
                file.vector,
                file.partition,
                file.size,
                file.modified,
                file.stats,
                position,
                part.version,
                0,
                file.deletion_vector,
                Tags(file.tags),
                file.base_row_id,
                file.row_version,
            )
        )
        self._name(part.table, file.path)

    def _remove(self, position: int, table: int, path: str, vector: str) -> bool:
        place = self._live.pop((table, path, vector), None)
        if place is None:
            return False
        ever = self._files[table]
        ever[place] = ever[place]._replace(removed=position)
        return True

    def _anomaly(
        self, position: int, table: int, kind: str, path: str = "", vector: str = ""
    ) -> None:
        self.anomalies.append(AnomalyRow(position, table, kind, path, vector))
        if path:
            self._name(table, path)

    def _name(self, table: int, path: str) -> None:
        self._paths.setdefault((table, path_hash(path)), set()).add(path)
