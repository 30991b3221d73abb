"""Deleted rows: what a commit's vectors and files of position deletes leave of each data file.

A vector replaces the one before it, and a file of position deletes adds to those that stay. Either
way a row that was deleted stays deleted while its data file stays.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ledger.core.rows.bitmaps import ROW_MAX, RowSet, empty, rows_in
from ledger.files.deletion_vectors import deleted_rows, portable
from ledger.files.footers import row_count
from ledger.iceberg.manifests.rows import ManifestEntry
from ledger.reads.port import FileRow
from ledger.statements.marking import size_of
from projections.iceberg.commits.files.client_files import ClientFiles
from projections.iceberg.commits.files.snapshot_difference import Difference
from projections.iceberg.commits.given_json import shown
from projections.iceberg.errors import bad_request

PUFFIN: Final = "PUFFIN"
COUNT_MAX: Final = ROW_MAX + 1

Found = Callable[[str], FileRow | None]
"""Returns the live file of a key, None without one."""


def deleted_in(files: ClientFiles, change: Difference, live: Found) -> Mapping[str, RowSet]:
    """Return all deleted rows of each data file whose rows a commit deletes, by key.

    A data file that the commit removes is left out, also if its deletes are undone. Raises
    IcebergRefusal for deletes of other files, and if a deleted row came back.
    """
    more: dict[str, RowSet] = {}
    for entry in change.deletes:
        for key, rows in rows_named(files, entry).items():
            more[key] = more[key] | rows if key in more else rows
    undone = {key for entry in change.undone for key in named_by(files, entry)}
    found: dict[str, RowSet] = {}
    for key in (*more, *(undone - more.keys())):
        if key in change.removed:
            continue
        if key in change.added:
            found[key] = within(key, more[key], change.added[key].entry.record_count)
            continue
        file = live(key)
        if file is None:
            if key in more:
                raise bad_request(
                    f"deleted rows must be of a file of the table, got {shown(key)}, which is not "
                    "in the snapshot on which the commit builds"
                )
            continue
        before = deleted_before(files, file)
        rows = more.get(key, empty()) | (empty() if key in undone else before)
        if before - rows:
            raise bad_request(
                f"rows that were deleted must stay so, and {len(before - rows)} rows of "
                f"{shown(key)} would come back: keep its deletes, or write its rows anew"
            )
        if rows != before:
            found[key] = within(key, rows, rows_of(files, file))
    return found


def rows_named(files: ClientFiles, entry: ManifestEntry) -> Mapping[str, RowSet]:
    """Return the rows that a new file of deletes names, by the key of their data file.

    Raises IcebergRefusal for a number of rows that differs from the entry's.
    """
    if entry.record_count > COUNT_MAX:
        raise bad_request(f"a file must have {COUNT_MAX} rows at most, got {entry.record_count}")
    if entry.file_format == PUFFIN:
        place, offset, size = entry.referenced_data_file, entry.content_offset, entry.content_size
        if place is None or offset is None or size is None:
            raise bad_request(
                f"a deletion vector must name its data file, its place and its size, got none in "
                f"{shown(entry.path)}"
            )
        rows = files.vector(entry.path, offset, size)
        if len(rows) != entry.record_count:
            raise bad_request(
                f"the deletion vector in {shown(entry.path)} must have {entry.record_count} rows, "
                f"got {len(rows)}"
            )
        return {files.paths.key(place): rows} if rows else {}
    found: dict[str, RowSet] = {}
    for path, rows in files.position_deletes(entry.path).items():
        key = files.paths.key(path)
        found[key] = found[key] | rows if key in found else rows
    return found


def named_by(files: ClientFiles, entry: ManifestEntry) -> set[str]:
    """Return the keys of the data files that a file of deletes is of."""
    if entry.referenced_data_file is not None:
        return {files.paths.key(entry.referenced_data_file)}
    return {files.paths.key(path) for path in files.position_deletes(entry.path)}


def deleted_before(files: ClientFiles, file: FileRow) -> RowSet:
    """Return the rows of a live file that are deleted already; raises IcebergRefusal."""
    if file.deletion_vector is None:
        if file.vector:
            raise bad_request(
                f"the log does not say where the deleted rows of {shown(file.path)} are: import "
                "the table again"
            )
        return empty()
    return rows_in(portable(deleted_rows(files.storage, file.deletion_vector)))


def rows_of(files: ClientFiles, file: FileRow) -> int:
    """Return how many rows a live file has, deleted ones counted."""
    known = size_of(file)
    return row_count(files.storage, file.path) if known is None else known


def within(key: str, rows: RowSet, count: int) -> RowSet:
    """Return rows of a file; raises IcebergRefusal for one that the file does not have."""
    if rows and rows.max() >= count:
        raise bad_request(
            f"deleted rows of {shown(key)} must be below its {count} rows, got {rows.max()}"
        )
    return rows
