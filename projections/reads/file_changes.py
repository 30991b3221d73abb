"""File changes: the files that versions of a table added and removed, from rows.

Each chunk of a commit's list is a row. An added file is in the list as the commit left it; what the
list says of a removed one may be less than its own row holds.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from ledger.core.limits import NUMBER_MAX
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, unpack
from ledger.reads.port import FileChange, FileRow
from projections.reads import lookups, version_lookups
from projections.reads.listings import file_row
from projections.reads.partition_lookups import KnownValues
from projections.rows.keys import LISTED, REMOVED_FILE, pair_key, read_number, triple_key
from projections.rows.tables.file_rows import file_name, read_file
from projections.store.port import RowReader

# A place is the number of a chunk of the list and, in the lower bits, the number of a file in it.
CHUNK_BITS: Final = 32
CHUNK_MAX: Final = 1 << (63 - CHUNK_BITS)


def file_changes(
    rows: RowReader, table: int, between: tuple[int, int], limit: int, place: int
) -> Iterator[FileChange]:
    """Return at most `limit` changes of the first to the last version, from behind a place."""
    first, last = (max(0, min(each, NUMBER_MAX)) for each in between)
    place = max(0, min(place, NUMBER_MAX))
    if not lookups.is_row_number(table) or not limit:
        return
    start = triple_key(LISTED, table, first, place >> CHUNK_BITS)
    left = limit
    for key, data in rows.scan(start, triple_key(LISTED, table, last, CHUNK_MAX)):
        version = read_number(key, -2)
        behind = place if version == first else 0
        for change in of_chunk(rows, key, unpacked(data), behind):
            yield change
            left -= 1
            if not left:
                return


@lru_cache(maxsize=1)
def unpacked(data: bytes) -> FileList:
    """Return the list of a chunk; the pages of one chunk need it one after the other."""
    return unpack(data)


def of_chunk(rows: RowReader, key: bytes, files: FileList, behind: int) -> Iterator[FileChange]:
    """Return the changes of one chunk of a list, from behind a place."""
    table, version, chunk = (read_number(key, which) for which in (-3, -2, -1))
    position = int(version_lookups.stored(rows, table, version)[1]["position"])
    place, values = chunk << CHUNK_BITS, KnownValues(rows, table)
    for removed in files.removes:
        place += 1
        if place > behind:
            gone = removed_file(rows, table, removed, position, values)
            yield FileChange(
                version, place, added=False, data_change=removed.data_change, file=gone
            )
    for added in files.adds:
        place += 1
        if place > behind:
            file = added_file(table, added, position, version)
            yield FileChange(version, place, added=True, data_change=added.data_change, file=file)


def removed_file(
    rows: RowReader, table: int, file: RemoveFile, position: int, values: KnownValues
) -> FileRow:
    """Return a file that a commit removed."""
    name = file_name(file)
    data = rows.get(pair_key(REMOVED_FILE, table, position) + name)
    assert data is not None, f"{file.path}, removed at {position} from table {table}, has no row"
    fields = read_file(data)
    return file_row(table, name, fields, values[fields.partition], position)


def added_file(table: int, file: AddFile, position: int, version: int) -> FileRow:
    """Return a file that a commit added, as the commit left it."""
    same: dict[str, Any] = {
        name: each for name, each in zip(file._fields, file, strict=True) if name in SAME
    }
    return FileRow(**same, table=table, added=position, version=version, removed=0)


SAME: Final = frozenset(AddFile._fields) & frozenset(FileRow._fields)
