"""Listings: the files of a table as of any position, from rows, and what is odd with them.

What was live at a position is what is live now and was then, and what was removed since and was
there then. So a listing is a function of its position, whatever was applied since.
"""

from collections.abc import Iterator
from typing import Any

from ledger.core.footprints import HASH_BYTES
from ledger.reads import AnomalyRow, FileRow
from projections.keys import pack, unpack
from projections.reads.lookups import is_row_number
from projections.rows import (
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
from projections.store.port import RowReader, prefix_end

KIND_BYTES = 1


def files(rows: RowReader, table: int, position: int) -> list[FileRow]:
    """Return the files of a table that were live at an applied position, by path and vector."""
    now = live(rows, table, position)
    gone = list(removed_since(rows, table, position))
    if not gone:
        return list(now)
    return sorted([*now, *gone], key=lambda file: (file.path, file.vector))


def live(rows: RowReader, table: int, position: int) -> Iterator[FileRow]:
    """Return the files that are live now and were at a position."""
    prefix = number_key(LIVE_FILE, table)
    for key, data in rows.scan(prefix, prefix_end(prefix)):
        fields = read_value(data)
        if fields["added"] <= position:
            _, path, vector = unpack(key[KIND_BYTES:], int, str, bytes)
            yield file_row(table, path, vector, fields)


def removed_since(rows: RowReader, table: int, position: int) -> Iterator[FileRow]:
    """Return the files that were live at a position and were removed since."""
    end = prefix_end(number_key(REMOVED_FILE, table))
    for key, data in rows.scan(pair_key(REMOVED_FILE, table, position + 1), end):
        fields = read_value(data)
        if fields["added"] <= position:
            _, removed, path, vector = unpack(key[KIND_BYTES:], int, int, str, bytes)
            yield file_row(table, path, vector, fields, removed)


def file_row(
    table: int, path: str, vector: bytes, fields: dict[str, Any], removed: int = 0
) -> FileRow:
    """Return a file of its row."""
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
    )


def paths(rows: RowReader, table: int, path_hash: bytes) -> list[str]:
    """Return the paths that were named and go by a hash, none by what is no whole hash."""
    if len(path_hash) != HASH_BYTES:
        return []
    prefix = pack(PATH, table, path_hash)
    return [key[len(prefix) :].decode() for key, _ in rows.scan(prefix, prefix_end(prefix))]


def anomalies(rows: RowReader, table: int | None, limit: int) -> list[AnomalyRow]:
    """Return what commits said that cannot be, of one table or of all, oldest first."""
    if table is not None and not is_row_number(table):
        return []
    prefix = ANOMALY if table is None else number_key(TABLE_ANOMALY, table)
    found = rows.scan(prefix, prefix_end(prefix), limit=limit)
    return [AnomalyRow(read_number(key, -2), *read_value(data)) for key, data in found]
