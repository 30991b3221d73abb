"""Files as a state in memory knows them: every one that a commit named, live or not, for ever.

The counterpart of `projections.rows.tables.files` for `tests.oracle.reads`: it looks through all
there ever was, where rows are found by their keys.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import TypedDict

from ledger.core.commands import Footprint
from ledger.core.conflicts.footprints import path_hash
from ledger.core.events.parts import CommittedPart
from ledger.core.predicates.predicates import TRUE_PREDICATE, compile_predicate
from ledger.core.state.traits import traits_of
from ledger.errors import FileListError
from ledger.log.wire.file_extras import Tags
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, records_again, unpack_chunks
from ledger.reads.port import AnomalyRow, BlocksRow, FileChange, FileRow, PartitionRow, TableRow
from ledger.snapshot.reading import may_concern

Partition = tuple[int, tuple[str | None, ...]]
"""When its partition columns had changed last, and its values."""


class LiveSums(TypedDict):
    """The sums of the live files of a table, as a version has them."""

    live_files: int
    live_size: int
    live_rows: int | None


class StateFiles:
    """The files of all tables; `anomalies` are in the order in which they were found."""

    def __init__(self) -> None:
        self._files: dict[int, list[FileRow]] = {}
        self._live: dict[tuple[int, str, str], int] = {}
        self._paths: dict[tuple[int, bytes], set[str]] = {}
        self._changes: dict[int, list[FileChange]] = {}
        self._numbers: dict[int, list[Partition]] = {}
        self._partitions: dict[int, list[Partition]] = {}
        self._blocks_since: dict[int, int] = {}
        self.anomalies: list[AnomalyRow] = []

    def note(
        self, position: int, part: CommittedPart, chunks: Iterable[Footprint], partitioned: int
    ) -> FileList:
        """Apply what a part of a commit lists in all its chunks, and return it.

        `partitioned` is when the partition columns of the table had changed last, before it.
        """
        try:
            files = unpack_chunks(chunks)
        except FileListError:
            self._anomaly(position, part.table, "unreadable_list")
            return FileList()
        blocks = self._blocks(part.table)
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
            self._add(position, part, new, partitioned)
        self._note_changes(position, part, files)
        moved = {each.path for each in files.removes if not each.data_change}
        if not blocks or any(each.path in moved for each in blocks):
            self._blocks_since[part.table] = part.committed_at
        return files

    def blocks(self, table: int | None) -> Sequence[BlocksRow]:
        """Return what lies in the log of all tables, or of one."""
        found = []
        for number in sorted(self._files) if table is None else [table]:
            live = self._blocks(number)
            if live:
                rows = sum(rows_in(each) or 0 for each in live)
                size = sum(each.size for each in live)
                since = self._blocks_since[number]
                found.append(BlocksRow(number, len(live), size, rows, since))
        return found

    def _blocks(self, table: int) -> Sequence[FileRow]:
        return [each for each in self._files.get(table, ()) if each.rows and not each.removed]

    def files(self, row: TableRow, position: int, where: str) -> Sequence[FileRow]:
        """Return the files that were live at a position, by path and vector.

        With a condition only those that it may concern.
        """
        return sorted(
            (file for file, _ in self._at(row, position, where)),
            key=lambda each: (each.path, each.vector),
        )

    def partitions(self, row: TableRow, position: int, where: str) -> Sequence[PartitionRow]:
        """Return the partitions that had such files, in the order in which they first came."""
        inside: dict[Partition, list[FileRow]] = {}
        for file, partition in self._at(row, position, where):
            inside.setdefault(partition, []).append(file)
        order = self._numbers.get(row.table, [])
        return [
            summed(row.table, number, partition, inside[partition])
            for number, partition in enumerate(order, start=1)
            if partition in inside
        ]

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

    def sums(self, table: int) -> LiveSums:
        """Return the sums of the live files."""
        live = [file for file in self._files.get(table, ()) if not file.removed]
        rows = [rows_in(file) for file in live]
        known = [row for row in rows if row is not None]
        return {
            "live_files": len(live),
            "live_size": sum(file.size for file in live),
            "live_rows": sum(known) if len(known) == len(rows) else None,
        }

    def changes(self, table: int) -> Sequence[FileChange]:
        """Return all that commits added and removed, in order."""
        return self._changes.get(table, ())

    def paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        """Return the paths that were named and go by a hash."""
        return sorted(self._paths.get((table, path_hash), ()))

    def _note_changes(self, position: int, part: CommittedPart, files: FileList) -> None:
        said = {(add.path, add.vector): add.data_change for add in files.adds}
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

    def _at(
        self, row: TableRow, position: int, where: str
    ) -> Iterator[tuple[FileRow, "Partition"]]:
        schema = traits_of(row.definition).schema
        scan = compile_predicate(where or TRUE_PREDICATE, schema, derive=True)
        both = zip(self._files.get(row.table, ()), self._partitions.get(row.table, ()), strict=True)
        for file, partition in both:
            is_live = file.added <= position and (not file.removed or file.removed > position)
            if is_live and (scan.always or may_concern(scan, file, row, len(schema))):
                yield file, partition

    def _add(self, position: int, part: CommittedPart, file: AddFile, partitioned: int) -> None:
        ever = self._files.setdefault(part.table, [])
        partition = partitioned, tuple(file.partition)
        self._partitions.setdefault(part.table, []).append(partition)
        if partition not in (order := self._numbers.setdefault(part.table, [])):
            order.append(partition)
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
                file.rows,
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


def summed(table: int, number: int, partition: Partition, files: Sequence[FileRow]) -> PartitionRow:
    """Return a partition with the sums of some files."""
    rows = [rows_in(file) for file in files]
    known = [row for row in rows if row is not None]
    return PartitionRow(
        table,
        number,
        partition[1],
        partition[0],
        files=len(files),
        size=sum(file.size for file in files),
        rows=sum(known) if len(known) == len(rows) else None,
    )


def rows_in(file: FileRow) -> int | None:
    """Return how many rows a file has by its statistics, without those marked as deleted."""
    vector = file.deletion_vector
    if file.vector and vector is None:
        return None
    try:
        found = json.loads(file.stats)["numRecords"]
    except (ValueError, LookupError, TypeError):
        return None
    deleted = 0 if vector is None else vector.cardinality
    return found - deleted if type(found) is int and deleted <= found <= 2**53 else None
