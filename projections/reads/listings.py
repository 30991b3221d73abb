"""Listings: the files of a table as of any position, and anomalies, from rows.

The files live at a position are the present ones added by then, and the ones removed since. So a
listing depends on its position only, not on events applied later. Files are stored by partition and
listed by path, so a page is merged from the partitions that it may come from.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge, nsmallest
from itertools import chain, islice
from operator import itemgetter
from typing import Final, NamedTuple

from ledger.core.limits import HASH_BYTES
from ledger.core.partitions.names import Values
from ledger.log.wire.file_extras import Tags
from ledger.reads.row_counts import BlocksRow
from ledger.reads.rows import AnomalyRow, FileRow, PartitionRow, TableRow
from projections.reads.lookups import is_row_number
from projections.reads.partition_lookups import KnownValues, partition_row, partitions
from projections.rows.keys import (
    ANOMALY,
    BLOCKS,
    LIVE_FILE,
    PATH,
    REMOVED_FILE,
    REMOVED_FROM,
    TABLE_ANOMALY,
    last_number,
    number_key,
    pair_key,
    read_number,
    read_value,
)
from projections.rows.packing import INT_BYTES, pack
from projections.rows.tables.blocks import read_blocks
from projections.rows.tables.file_rows import FileFields, read_file
from projections.rows.tables.files import rows_in
from projections.rows.tables.partitions import PartitionFields, Sums
from projections.store.port import RowReader, prefix_end

# Behind the kind of a key come two or three numbers, then the name of the file.
NAME_AT: Final = 1 + 2 * INT_BYTES
NAME_BEHIND_POSITION_AT: Final = 1 + 3 * INT_BYTES
# To find the next file of a partition takes as long as to pass over so many files.
SEEK_ROWS: Final = 10
SLICE_MIN: Final = 4
NO_TAGS: Final = Tags()
SLICE_GROWTH: Final = 4

Named = tuple[bytes, bytes]
"""The name of a file in its key, and its row."""


class Listing(NamedTuple):
    """A question about the files of a table: as of a position, from a name in a key on.

    `wanted` are the numbers of the partitions to read, None = all. `values` has their values.
    """

    rows: RowReader
    table: TableRow
    position: int
    start: bytes
    wanted: Sequence[int] | None
    values: KnownValues

    def was_live(self, fields: FileFields) -> bool:
        """Return whether a file was added by the position."""
        return fields.added <= self.position

    def file(self, name: bytes, fields: FileFields, removed: int = 0) -> FileRow:
        """Return a file, made from its name and its row."""
        return file_row(self.table.table, name, fields, self.values[fields.partition], removed)


def files(
    rows: RowReader,
    table: TableRow,
    position: int,
    limit: int | None = None,
    *,
    behind: tuple[str, str] = ("", ""),
    where: str = "",
) -> list[FileRow]:
    """Return the files of a table that were live at an applied position, by path and vector.

    Only files of partitions that the condition `where` may concern are returned. The listing begins
    behind a path and vector. At most `limit` files of each kind are held in memory; but each page
    scans all files of these partitions that were removed since the position.
    """
    known = dict(partitions(rows, table, where)) if where or limit is not None else {}
    asked = Listing(
        rows,
        table,
        position,
        name_behind(*behind),
        list(known) if where else None,
        KnownValues(rows, table.table),
    )
    asked.values.update((number, fields.values) for number, fields in known.items())
    now = every_live(asked) if limit is None else live_page(asked, known, limit)
    gone = foremost(removed_since(asked), limit)
    return sorted([*now, *gone], key=name_of)[:limit] if gone else now


def file_row(
    table: int, name: bytes, fields: FileFields, partition: Values, removed: int = 0
) -> FileRow:
    """Return a file, made from its name in a key and its row."""
    path, _, vector = name.partition(b"\0")
    return FileRow(
        table,
        path.decode(),
        vector.decode(),
        partition,
        fields.size,
        fields.modified,
        fields.stats,
        fields.added,
        fields.version,
        removed,
        fields.deletion_vector,
        Tags(fields.tags) if fields.tags else NO_TAGS,
        fields.base_row_id,
        fields.row_version,
        fields.rows,
    )


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


def every_live(asked: Listing) -> list[FileRow]:
    """Return the present files that were live at the position, in order."""
    found = [asked.file(name, fields) for name, fields in live(asked) if asked.was_live(fields)]
    found.sort(key=name_of)
    return found


def live(asked: Listing) -> Iterator[tuple[bytes, FileFields]]:
    """Return the present files by partition, each as its name and row."""
    for prefix in prefixes(asked):
        start = prefix + asked.start if asked.wanted is not None else prefix
        for key, data in asked.rows.scan(start, prefix_end(prefix)):
            name = key[NAME_AT:]
            if name >= asked.start:
                yield name, read_file(data)


def prefixes(asked: Listing) -> Iterator[bytes]:
    """Return the prefixes of the keys to scan for present files."""
    table = asked.table.table
    if asked.wanted is None:
        yield number_key(LIVE_FILE, table)
        return
    for number in asked.wanted:
        yield pair_key(LIVE_FILE, table, number)


def live_page(asked: Listing, known: Mapping[int, PartitionFields], limit: int) -> list[FileRow]:
    """Return the first `limit` present files that were live at the position, in order."""
    if SEEK_ROWS * len(known) > sum(fields.files for fields in known.values()):
        shown = ((name, fields) for name, fields in live(asked) if asked.was_live(fields))
        page = nsmallest(limit, shown, key=itemgetter(0))
    else:
        found = merged(asked, known, limit)
        page = list(islice((each for each in found if asked.was_live(each[1])), limit))
    return [asked.file(name, fields) for name, fields in page]


def merged(
    asked: Listing, known: Mapping[int, PartitionFields], limit: int
) -> Iterator[tuple[bytes, FileFields]]:
    """Return the present files of all partitions in order, each as its name and row."""
    size = SLICE_MIN + limit // max(1, len(known))
    streams = [in_slices(asked, number, size) for number, each in known.items() if each.files]
    for name, data in merge(*streams, key=itemgetter(0)):
        yield name, read_file(data)


def in_slices(asked: Listing, number: int, size: int) -> Iterator[Named]:
    """Yield the present files of a partition from the start on, read in slices that grow."""
    prefix = pair_key(LIVE_FILE, asked.table.table, number)
    start = prefix + asked.start
    while True:
        found = list(asked.rows.scan(start, prefix_end(prefix), limit=size))
        for key, data in found:
            yield key[NAME_AT:], data
        if len(found) < size:
            return
        start, size = found[-1][0] + b"\0", SLICE_GROWTH * size


def removed_since(asked: Listing) -> Iterator[FileRow]:
    """Return the files that were live at the position and were removed since, in any order."""
    for name, data, removed in removals(asked):
        if name < asked.start:
            continue
        fields = read_file(data)
        if asked.was_live(fields):
            yield asked.file(name, fields, removed)


def removals(asked: Listing) -> Iterator[tuple[bytes, bytes, int]]:
    """Return name, row and position of the files removed after the position."""
    table, first = asked.table.table, asked.position + 1
    if asked.wanted is None:
        start, end = pair_key(REMOVED_FILE, table, first), number_key(REMOVED_FILE, table)
        for key, data in asked.rows.scan(start, prefix_end(end)):
            yield key[NAME_AT:], data, last_number(key[:NAME_AT])
        return
    for number in asked.wanted:
        prefix = pair_key(REMOVED_FROM, table, number)
        for key, _ in asked.rows.scan(prefix + pack(first), prefix_end(prefix)):
            name = key[NAME_BEHIND_POSITION_AT:]
            removed = last_number(key[:NAME_BEHIND_POSITION_AT])
            row = asked.rows.get(pair_key(REMOVED_FILE, table, removed) + name)
            assert row is not None, f"removed file {name!r} of table {table} has no row"
            yield name, row, removed


def partitions_now(
    rows: RowReader, table: TableRow, limit: int | None, *, where: str = "", after: int = 0
) -> list[PartitionRow]:
    """Return the partitions that have live files now, by number."""
    found = (
        partition_row(table.table, number, fields)
        for number, fields in partitions(rows, table, where, after)
        if fields.files
    )
    return list(islice(found, limit))


def partitions_at(
    rows: RowReader,
    table: TableRow,
    position: int,
    limit: int | None,
    *,
    where: str = "",
    after: int = 0,
) -> list[PartitionRow]:
    """Return the partitions that had live files at a position; reads all these files."""
    sums = dict[int, Sums]()
    known = dict(partitions(rows, table, where, after))
    wanted, values = list(known), KnownValues(rows, table.table)
    asked = Listing(rows, table, position, b"", wanted, values)
    gone = ((name, read_file(data)) for name, data, _ in removals(asked))
    for name, fields in chain(live(asked), gone):
        if asked.was_live(fields):
            rows_left = rows_in(name.partition(b"\0")[2], fields)
            sums.setdefault(fields.partition, Sums()).add(fields.size, rows_left)
    found = [
        partition_row(table.table, number, summed(known[number], each))
        for number, each in sorted(sums.items())
    ]
    return found[:limit]


def summed(fields: PartitionFields, sums: Sums) -> PartitionFields:
    """Return the same partition with other sums."""
    made = PartitionFields(values=fields.values, partitioned=fields.partitioned)
    made.change(sums)
    return made


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


def blocks(rows: RowReader, table: int | None) -> list[BlocksRow]:
    """Return the tables with rows in the log, or the one of an id."""
    if table is None:
        found: Iterable[tuple[bytes, bytes]] = rows.scan(BLOCKS, prefix_end(BLOCKS))
    elif is_row_number(table):
        key = number_key(BLOCKS, table)
        data = rows.get(key)
        found = [] if data is None else [(key, data)]
    else:
        found = []
    every = ((last_number(key), read_blocks(data)) for key, data in found)
    return [BlocksRow(number, at.blocks, at.size, at.rows, at.since) for number, at in every]
