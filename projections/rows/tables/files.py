"""Files: the live files of a table with the position of their add, and the removed files.

A file is a path with its deletion vector. Its row stands among the live ones of its partition until
a commit removes it; then it moves to the removed ones, which are ordered by the position of their
removal, and are found by partition too. So the present files of a partition are one scan, and the
files at an earlier position are the live ones and the ones removed since. A dropped table keeps its
rows: earlier positions can still be read. A path may come back, in another partition too, or stay
under another vector. So a path has a row that leads to its live files, and holds the position of
its last removal. A removal finds its file by that row, whatever partition it names.

A commit may delete rows of a file that stays, as of whatever commit comes before it. Then the file
stays under another vector: to the rows here it is a removal and an add.

Within one commit removes come before adds. An impossible add or remove is recorded as an anomaly
and never stops the fold: the ledger records what writers report about files, and does not check it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Final, NamedTuple, TypeVar

from ledger.core.conflicts.footprints import path_hash
from ledger.core.events.events import TxnCommitted
from ledger.core.events.parts import CommittedPart
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, records_again
from projections.rows.applied import Applied
from projections.rows.keys import (
    ANOMALY,
    PATH,
    REMOVED_FILE,
    REMOVED_FROM,
    TABLE_ANOMALY,
    number_key,
    pair_key,
    triple_key,
    value,
)
from projections.rows.projection import Rows
from projections.rows.tables.blocks import ChangedBlocks, block_rows
from projections.rows.tables.file_rows import (
    FileFields,
    PathFields,
    file_name,
    live_key,
    path_key,
    read_file,
    read_path,
)
from projections.rows.tables.gone_blocks import gone_rows
from projections.rows.tables.listed import changed_rows, list_rows
from projections.rows.tables.marked import Anomaly, with_pairs
from projections.rows.tables.partitions import ChangedPartitions, Sums, rows_of
from projections.rows.tables.versions import part_rows
from projections.store.batch import Batch, Changes, LateChange
from projections.store.port import RowChange

NOTHING = b""
FETCH_FILES: Final = 1_000

Listed = TypeVar("Listed", AddFile, RemoveFile)


class ChangedTable(NamedTuple):
    """The files of a table while the commit at a position changes them."""

    table: int
    position: int
    batch: Batch
    partitions: ChangedPartitions
    blocks: ChangedBlocks

    def keyed(self, files: Sequence[Listed]) -> Iterator[tuple[Listed, bytes]]:
        """Yield files with the keys of their paths, whose rows are fetched some at a time."""
        prefix = number_key(PATH, self.table)
        for first in range(0, len(files), FETCH_FILES):
            some = files[first : first + FETCH_FILES]
            keys = [prefix + path_hash(each.path) + each.path.encode() for each in some]
            if len(keys) > 1:
                self.batch.fetch(keys)
            yield from zip(some, keys, strict=True)

    def take_out(self, file: AddFile | RemoveFile, path: PathFields) -> bool:
        """Move a file from the live ones to the removed ones; False if it is not live."""
        partition = path.take(file.vector)
        if partition is None:
            return False
        name = file_name(file)
        key = live_key(self.table, partition, name)
        found = self.batch.get(key)
        assert found is not None, f"live file {file.path} of table {self.table} has no row"
        self.batch.put(key, None)
        fields = read_file(found)
        rows = rows_in(file.vector, fields)
        self.partitions.numbered(partition).sums.take(fields.size, rows)
        if fields.rows:
            self.blocks.count(-1, fields.size, rows)
            self.blocks.has_moved |= not file.data_change
        # A file added by this same commit was never visible: no position shows it.
        if fields.added < self.position:
            self.batch.put(pair_key(REMOVED_FILE, self.table, self.position) + name, found)
            by_partition = triple_key(REMOVED_FROM, self.table, partition, self.position)
            self.batch.put(by_partition + name, NOTHING)
            self.blocks.has_gone |= bool(fields.rows)
        return True

    def put_in(self, file: AddFile, version: int) -> int:
        """Put a file among the live ones of its partition; return the number of the partition."""
        changed = self.partitions.of(file.partition)
        fields = FileFields(
            self.position,
            changed.number,
            file.size,
            file.modified,
            file.stats,
            version,
            file.deletion_vector,
            dict(file.tags) if file.tags else (),
            file.base_row_id,
            file.row_version,
            file.rows,
        )
        self.batch.put(changed.files + file_name(file), fields.value())
        rows = rows_in(file.vector, file)
        changed.sums.add(file.size, rows)
        if file.rows:
            self.blocks.count(1, file.size, rows)
        return changed.number


def committed(applied: Applied, body: TxnCommitted) -> Iterator[LateChange]:
    """Return the rows of the files that a commit adds and removes, and of its anomalies."""
    numbers, gone = count(), list[tuple[int, int]]()
    for part in body.parts:
        if part.table in applied.files:
            batch = Batch(applied.stored)
            files, odd = with_pairs(part, applied.files[part.table], applied.stored)
            blocks = ChangedBlocks()
            anomalies, sums = change_files(applied, part, files, batch, blocks)
            for anomaly in (*odd, *anomalies):
                yield from anomaly_rows(applied.control.position, next(numbers), anomaly)
            yield from batch.changes.items()
            yield from part_rows(applied, part, sums)
            yield from block_rows(applied, part, blocks)
            is_changed = bool(anomalies) or files is not applied.files[part.table]
            yield from list_of(applied, part, files, batch, is_odd=is_changed)
            if blocks.has_gone:
                gone.append((part.table, part.version))
    yield from gone_rows(applied, gone)


def change_files(
    applied: Applied,
    part: CommittedPart,
    files: FileList | None,
    batch: Batch,
    blocks: ChangedBlocks,
) -> tuple[Sequence[Anomaly], Sums]:
    """Change the files of one table in `batch`, and `blocks`.

    Returns the anomalies, and the change of sums.
    """
    position = applied.control.position
    if files is None:
        return [Anomaly(part.table, "unreadable_list")], Sums()
    definition = applied.tables[part.table].table.definition
    partitions = ChangedPartitions(batch, part.table, definition)
    table = ChangedTable(part.table, position, batch, partitions, blocks)
    anomalies = [*removed(table, files), *added(table, part, files)]
    return anomalies, table.partitions.settle()


def list_of(
    applied: Applied, part: CommittedPart, files: FileList | None, batch: Batch, *, is_odd: bool
) -> Iterator[RowChange]:
    """Return the rows that keep what a part changed file by file, given all its changes."""
    if files is None:
        return
    if not is_odd and not records_again(part, files):
        yield from list_rows(applied, part)
        return
    changes = batch.changes
    adds = {file_name(add): add for add in files.adds if is_put(changes, part.table, add)}
    gone = pair_key(REMOVED_FILE, part.table, applied.control.position)
    removes: dict[bytes, RemoveFile] = {}
    replaced = (RemoveFile(add.path, None, add.data_change, add.vector) for add in files.adds)
    for remove in chain(files.removes, replaced):
        if gone + file_name(remove) in changes:
            removes.setdefault(file_name(remove), remove)
    yield from changed_rows(part, list(adds.values()), list(removes.values()))


def is_put(changes: Changes, table: int, file: AddFile) -> bool:
    """Return whether changes of rows put a file among the live ones."""
    path = changes.get(path_key(table, file.path))
    partition = read_path(path).take(file.vector) if isinstance(path, bytes) else None
    return partition is not None and live_key(table, partition, file_name(file)) in changes


def removed(table: ChangedTable, files: FileList) -> Iterator[Anomaly]:
    """Remove files; return an anomaly for each file that was not live."""
    for file, key in table.keyed(files.removes):
        known = table.batch.get(key)
        path = PathFields() if known is None else read_path(known)
        if table.take_out(file, path):
            path.removed = table.position
        else:
            yield Anomaly(table.table, "removed_not_live", file.path, file.vector)
        table.batch.put(key, path.row())


def added(table: ChangedTable, part: CommittedPart, files: FileList) -> Iterator[Anomaly]:
    """Add files; return an anomaly for each file that was live already, and replace it.

    A backfill replaces live files and adds no others: a file that was removed since the backfill
    read it stays removed.
    """
    is_again = records_again(part, files)
    for file, key in table.keyed(files.adds):
        known = table.batch.get(key)
        path = None if known is None else read_path(known)
        was_live = path is not None and table.take_out(file, path)
        if is_again and not was_live:
            continue
        if was_live and not is_again:
            yield Anomaly(table.table, "added_live", file.path, file.vector)
        partition = table.put_in(file, part.version)
        if path is None and not file.vector:
            table.batch.put(key, value(partition))
            continue
        path = path or PathFields()
        path.put(file.vector, partition)
        table.batch.put(key, path.row())


def rows_in(vector: str | bytes, file: FileFields | AddFile) -> int | None:
    """Return how many rows a file with a deletion vector, or without, has; None = unknown."""
    if not vector:
        return rows_of(file.stats)
    marked = file.deletion_vector
    return None if marked is None else rows_of(file.stats, marked.cardinality)


def anomaly_rows(position: int, number: int, anomaly: Anomaly) -> Iterator[RowChange]:
    """Return the rows of an anomaly, by position and by table."""
    yield pair_key(ANOMALY, position, number), value(anomaly)
    yield triple_key(TABLE_ANOMALY, anomaly.table, position, number), value(anomaly)


ROWS: Final[Mapping[type, Rows]] = {TxnCommitted: committed}
