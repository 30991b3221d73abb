"""Marked files: rows that a commit deletes of files that stay, as pairs of a removal and an add.

A mark says which rows are gone, whatever other marks came before. The rows here know the file with
the vector that it has just before the commit, and so the vector that it has afterwards.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ledger.core.events.parts import CommittedPart
from ledger.core.rows.bitmaps import rows_in
from ledger.core.rows.changes import Marks
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile
from ledger.log.wire.inline_vectors import marked
from projections.rows.keys import PARTITION, pair_key
from projections.rows.tables.file_rows import live_key, name_of, path_key, read_file, read_path
from projections.rows.tables.partitions import read_partition, rows_of
from projections.store.batch import StoredRows


class Anomaly(NamedTuple):
    """An impossible add, removal or mark of a file in a commit."""

    table: int
    kind: str
    path: str = ""
    vector: str = ""


def with_pairs(
    part: CommittedPart, files: FileList | None, stored: StoredRows
) -> tuple[FileList | None, list[Anomaly]]:
    """Return a list with a removal and an add for each marked file, and the impossible marks.

    A file that was written anew is removed under the vector that it has. A list without either is
    returned as it is.
    """
    if files is None or not (files.marks or files.rewritten):
        return files, []
    adds, removes = list(files.adds), list[RemoveFile]()
    anomalies: list[Anomaly] = []
    for remove in files.removes:
        if remove.path not in files.rewritten:
            removes.append(remove)
            continue
        found = list(live_files(part.table, remove.path, stored))
        removes += [as_removed(file, data_change=remove.data_change) for file in found]
        if not found:
            anomalies.append(Anomaly(part.table, "removed_not_live", remove.path))
    for marks in files.marks:
        found = list(live_files(part.table, marks.path, stored))
        if not found:
            anomalies.append(Anomaly(part.table, "marked_not_live", marks.path))
        for file in found:
            after, fault = marked_as(file, marks)
            if fault:
                anomalies.append(Anomaly(part.table, fault, file.path, file.vector))
            if after is not None:
                removes.append(as_removed(file))
                adds.append(after)
    return FileList(adds, removes, files.info), anomalies


def as_removed(file: AddFile, *, data_change: bool = True) -> RemoveFile:
    """Return the removal of a live file."""
    return RemoveFile(
        file.path,
        file.partition,
        data_change,
        file.vector,
        file.deletion_vector,
        file.tags,
        file.base_row_id,
        file.row_version,
    )


def marked_as(file: AddFile, marks: Marks) -> tuple[AddFile | None, str]:
    """Return a file with more rows deleted, and the kind of anomaly that this is, "" for none.

    None for a file whose vector is not in the log: it keeps all its rows.
    """
    rows = rows_in(marks.rows)
    try:
        after = marked(file, rows)
    except ValueError:
        return None, "marked_unreadable"
    known = rows_of(file.stats)
    return after, "marked_beyond_rows" if known is not None and rows.max() >= known else ""


def live_files(table: int, path: str, stored: StoredRows) -> Iterator[AddFile]:
    """Yield the files of a path that are live, under each of its vectors."""
    known = stored.get(path_key(table, path))
    for vector, partition in ((read_path(known).live or {}) if known is not None else {}).items():
        row = stored.get(live_key(table, partition, name_of(path, vector)))
        values = stored.get(pair_key(PARTITION, table, partition))
        assert row is not None, f"live file {path} of table {table} has no row"
        assert values is not None, f"partition {partition} of table {table} has no row"
        fields = read_file(row)
        yield AddFile(
            path,
            tuple(read_partition(values).values),
            fields.size,
            fields.modified,
            stats=fields.stats,
            vector=vector,
            deletion_vector=fields.deletion_vector,
            tags=dict(fields.tags),
            base_row_id=fields.base_row_id,
            row_version=fields.row_version,
            rows=fields.rows,
        )
