"""Mark lookups: how far a table may be cleaned, and what may be deleted, from rows.

The rule is in `core.state.watermark`. A mark costs a few lookups, a listing the rows it scans:
nothing here reads the history of a table, or its live files.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from ledger.core.state.watermark import Lifetime, Snapshot, TableMark, table_mark
from ledger.log.wire.file_extras import is_block
from ledger.reads.port import FileRow, MappingRow, TableMarkRow, TableRow
from projections.reads import lookups, version_lookups
from projections.reads.listings import NAME_AT, file_row
from projections.reads.partition_lookups import KnownValues
from projections.reads.snapshots import txns_at
from projections.rows.keys import (
    DEFINITION,
    FIRST_OPEN,
    OPEN_ID,
    REMOVED_FILE,
    TXN,
    WATERMARK,
    last_number,
    number_key,
    pair_key,
    read_value,
)
from projections.rows.tables.file_rows import PathFields, path_key, read_file
from projections.store.port import RowReader, prefix_end

# The first byte above the zero that closes a text in a key: behind all keys with that text.
BEHIND = b"\1"


def mark_row(rows: RowReader, table: TableRow) -> TableMarkRow:
    """Return the mark of a table, its holders, and the version of the table there."""
    mark = mark_of(rows, table)
    version = version_lookups.at_position(rows, table.table, mark.position)
    return TableMarkRow(
        table.table,
        mark.position,
        mark.write_id,
        version=version.version if version is not None else -1,
        open=lookups.txn(rows, mark.txn),
    )


def mark_of(rows: RowReader, table: TableRow) -> TableMark:
    """Return the mark of a table as of the position the rows end with."""
    life = Lifetime(created(rows, table.table), table.dropped)

    def first_open(position: int) -> int:
        if life.is_over(position):
            return table.last_write_id + 1
        return first_open_at(rows, table.table, position)

    oldest = oldest_snapshot(rows, life.created)
    return table_mark(life, oldest, lookups.position(rows), first_open)


def created(rows: RowReader, table: int) -> int:
    """Return the position from which on a table exists for all, 0 if it does not yet."""
    prefix = number_key(DEFINITION, table)
    found = rows.scan(prefix, prefix_end(prefix), limit=1)
    return next((last_number(key) for key, _ in found), 0)


def oldest_snapshot(rows: RowReader, since: int) -> list[Snapshot]:
    """Return the oldest snapshot of an open txn that opened at a position or later, if any.

    If that snapshot does not show a table created at `since`, the table was dropped, and no later
    one shows it. All open txns are read only if one of them is older than the table.
    """
    oldest = (lookups.read(rows, WATERMARK) or {}).get("oldest")
    if oldest is None:
        return []
    found = Snapshot(*oldest)
    return [found] if since <= found.position else younger_snapshot(rows, since)


def younger_snapshot(rows: RowReader, since: int) -> list[Snapshot]:
    """Return the oldest snapshot at a position or later; snapshots rise with their txn ids."""
    sets = txns_at(rows, lookups.position(rows))
    txns = sorted(sets.open | sets.read_only)
    place = bisect_left(txns, since, key=lambda txn: opened(rows, txn))
    return [Snapshot(opened(rows, txn), txn) for txn in txns[place : place + 1]]


def opened(rows: RowReader, txn: int) -> int:
    """Return the position at which an open txn opened."""
    return int(lookups.read_numbered(rows, TXN, txn)["opened"])


def first_open_at(rows: RowReader, table: int, position: int) -> int:
    """Return the least write id of a table that had not ended at a position."""
    ends = pair_key(FIRST_OPEN, table, 0), pair_key(FIRST_OPEN, table, position + 1)
    found = rows.scan(*ends, limit=1, reverse=True)
    return next((int(read_value(data)) for _, data in found), 1)


def released_files(
    rows: RowReader, table: TableRow, limit: int, since: int, path: str
) -> list[FileRow]:
    """Return paths that no snapshot needs, by the position of their last removal, then by path.

    The listing holds paths removed after `since`, and those removed at `since` that sort behind
    `path`.
    """
    start = pair_key(REMOVED_FILE, table.table, max(0, since))
    # No file has a name that is not UTF-8, but a terminal may pass one.
    start += path.encode(errors="surrogatepass") + BEHIND if path else b""
    end = pair_key(REMOVED_FILE, table.table, mark_of(rows, table).position + 1)
    return list(islice(released(rows, table.table, start, end), limit)) if start < end else []


def released(rows: RowReader, table: int, start: bytes, end: bytes) -> Iterator[FileRow]:
    """Return the paths removed in a range of keys and not added again, each once."""
    before, values = None, KnownValues(rows, table)
    for key, data in rows.scan(start, end):
        name, removed = key[NAME_AT:], last_number(key[:NAME_AT])
        path = name[: name.index(b"\0")].decode()
        if path != before and not is_block(path) and is_gone(rows, table, path, removed):
            fields = read_file(data)
            yield file_row(table, name, fields, values[fields.partition], removed)
            before = path


def is_gone(rows: RowReader, table: int, path: str, removed: int) -> bool:
    """Return whether the removal of a path at a position was its last, under any vector."""
    return rows.get(path_key(table, path)) == PathFields(removed=removed).row()


def aborted_write_ids(rows: RowReader, table: TableRow, limit: int) -> list[MappingRow]:
    """Return the aborted write ids of a table below its mark, under which data may lie."""
    return list(islice(aborted(rows, table, mark_of(rows, table).write_id), limit))


def aborted(rows: RowReader, table: TableRow, below: int) -> Iterator[MappingRow]:
    """Return the aborted write ids below a bound under which data may lie.

    They hold the watermark, so their mappings are not cleaned. The data of a dropped table went
    with it.
    """
    if table.dropped:
        return
    first, end = (pair_key(OPEN_ID, table.table, each) for each in (table.mapped_from, below))
    for key, data in rows.scan(first, end) if first < end else ():
        txn, *left = read_value(data)
        if any(left):
            yield MappingRow(last_number(key), txn)
