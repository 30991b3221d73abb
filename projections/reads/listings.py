"""Listings: the files of a table as of any position, and anomalies, from rows.

The files live at a position are the present ones added by then, and the ones removed since. So a
listing depends on its position only, not on events applied later.
"""

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from typing import Any

from ledger.core.limits import HASH_BYTES
from ledger.log.file_extras import DeletionVector, Tags
from ledger.reads.port import AnomalyRow, FileRow
from projections.reads.lookups import is_row_number
from projections.rows.keys import (
    ANOMALY,
    LIVE_FILE,
    PATH,
    REMOVED_FILE,
    TABLE_ANOMALY,
    number_key,
    pair_key,
    read_number,
    read_value,
)
from projections.rows.packing import pack, unpack
from projections.store.port import RowReader, prefix_end

KIND_BYTES = 1


def files(
    rows: RowReader,
    table: int,
    position: int,
    limit: int | None = None,
    *,
    behind: tuple[str, str] = ("", ""),
) -> list[FileRow]:
    """Return the files of a table that were live at an applied position, by path and vector.

    The listing begins behind a path and vector. At most `limit` files of each kind are held in
    memory; but each page scans all files that were removed since the position.
    """
    start = name_behind(*behind)
    now = list(islice(live(rows, table, position, start), limit))
    gone = foremost(removed_since(rows, table, position, start), limit)
    return sorted([*now, *gone], key=name_of)[:limit] if gone else now


def name_behind(path: str, vector: str) -> bytes:
    """Return the least name in a key behind a file; the path "" is before all."""
    # No file has a name that is not UTF-8, but a terminal may pass one.
    parts = [each.encode(errors="surrogatepass") + b"\0" for each in (path, vector)]
    return b"".join(parts) if path or vector else b""


def name_of(file: FileRow) -> tuple[str, str]:
    """Return the sort key of a listing."""
    return file.path, file.vector


def foremost(found: Iterable[FileRow], limit: int | None) -> list[FileRow]:
    """Return the first `limit` files of a listing, from files in any order."""
    return list(found) if limit is None else nsmallest(limit, found, key=name_of)


def live(rows: RowReader, table: int, position: int, start: bytes) -> Iterator[FileRow]:
    """Return the present files that were live at a position, from a name on."""
    prefix = number_key(LIVE_FILE, table)
    for key, data in rows.scan(prefix + start, prefix_end(prefix)):
        fields = read_value(data)
        if fields["added"] <= position:
            _, path, vector = unpack(key[KIND_BYTES:], int, str, bytes)
            yield file_row(table, path, vector, fields)


def removed_since(rows: RowReader, table: int, position: int, start: bytes) -> Iterator[FileRow]:
    """Return the files that were live at a position and were removed since, from a name on."""
    first, end = pair_key(REMOVED_FILE, table, position + 1), number_key(REMOVED_FILE, table)
    for key, data in rows.scan(first, prefix_end(end)):
        if key[len(first) :] < start:
            continue
        fields = read_value(data)
        if fields["added"] <= position:
            _, removed, path, vector = unpack(key[KIND_BYTES:], int, int, str, bytes)
            yield file_row(table, path, vector, fields, removed)


def file_row(
    table: int, path: str, vector: bytes, fields: dict[str, Any], removed: int = 0
) -> FileRow:
    """Return a file, made from its row."""
    vector_fields = fields.get("deletion_vector")
    return FileRow(
        table,
        path,
        vector.decode(),
        partition=tuple(fields.get("partition", ())),
        size=fields.get("size", 0),
        modified=fields.get("modified", 0),
        stats=fields.get("stats", ""),
        added=fields["added"],
        version=fields.get("version", 0),
        removed=removed,
        deletion_vector=None if vector_fields is None else DeletionVector(*vector_fields),
        tags=Tags(fields.get("tags", ())),
        base_row_id=fields.get("base_row_id"),
        row_version=fields.get("row_version"),
    )


def paths(rows: RowReader, table: int, path_hash: bytes) -> list[str]:
    """Return the paths with a hash that commits named; [] for a hash of another length."""
    if len(path_hash) != HASH_BYTES:
        return []
    prefix = pack(PATH, table, path_hash)
    return [key[len(prefix) :].decode() for key, _ in rows.scan(prefix, prefix_end(prefix))]


def anomalies(rows: RowReader, table: int | None, limit: int, after: int = 0) -> list[AnomalyRow]:
    """Return the anomalies of one table or of all, oldest first."""
    if table is not None and not is_row_number(table):
        return []
    prefix = ANOMALY if table is None else number_key(TABLE_ANOMALY, table)
    first = prefix + pack(after + 1) if after > 0 else prefix
    found = rows.scan(first, prefix_end(prefix), limit=limit)
    return [AnomalyRow(read_number(key, -2), *read_value(data)) for key, data in found]
