"""Version lookups: a version of a table by its number, its position or its time, from rows.

Positions and times never decrease with versions, so a search among n versions reads about log2(n)
rows. Versions are dense, except where a cut of the log left out lost ones. Progress of
applications, protocol and domain metadata are here too.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from ledger.core.commands import Domain, Protocol
from ledger.core.limits import NUMBER_MAX
from ledger.reads.port import AppRow, TableReadRow, VersionRow
from projections.reads import lookups
from projections.rows.keys import (
    APP,
    DOMAIN,
    NAME,
    PROTOCOL,
    SESSION,
    TABLE,
    TABLE_CREATED,
    TABLE_READ,
    VERSION,
    WRITE_IDS,
    last_number,
    last_text,
    number_in,
    number_key,
    pair_key,
    read_value,
    text_key,
)
from projections.store.port import RowReader, prefix_end

Fields = dict[str, Any]


class Users(dict[int, str]):
    """The users of sessions, each looked up once; "" for no session."""

    def __init__(self, rows: RowReader) -> None:
        super().__init__()
        self._rows = rows

    def __missing__(self, session: int) -> str:
        opened = lookups.read_numbered(self._rows, SESSION, session)
        user = self[session] = "" if opened is None else str(opened.get("user", ""))
        return user


def newest_rows(rows: RowReader, position: int | None) -> Iterator[VersionRow]:
    """Yield the last version of each table that exists, or existed at a position, by table."""
    users = Users(rows)
    for table, number in tables_there(rows, position):
        found = number, lookups.read(rows, pair_key(VERSION, table, max(0, number)))
        if position is not None and found[1] is not None and found[1]["position"] > position:
            found = last_up_to(rows, table, lambda fields: int(fields["position"]), position)
        if found[1] is not None:
            yield version_row(table, *found, users)


def tables_there(rows: RowReader, position: int | None) -> Iterator[tuple[int, int]]:
    """Yield each table with its newest version; definitions are not read."""
    if position is None:
        for table in sorted(read_value(data) for _, data in rows.scan(NAME, prefix_end(NAME))):
            yield table, newest(rows, table)
        return
    kinds = (TABLE_CREATED, TABLE, WRITE_IDS)
    for parts in zip(*(rows.scan(kind, prefix_end(kind)) for kind in kinds), strict=False):
        created, standing, sequence = (read_value(data) for _, data in parts)
        if created["created"] <= position and not 0 < standing.get("dropped", 0) <= position:
            yield last_number(parts[0][0]), sequence.get("version", 0)


def newest(rows: RowReader, table: int) -> int:
    """Return the newest version of a table, -1 if it has none."""
    sequence = lookups.read_numbered(rows, WRITE_IDS, table)
    return -1 if sequence is None else int(sequence.get("version", 0))


def version(rows: RowReader, table: int, number: int) -> VersionRow | None:
    """Return a version by its number, None for a lost one."""
    if not 0 <= number <= newest(rows, table):
        return None
    fields = lookups.read(rows, pair_key(VERSION, table, number))
    return None if fields is None else version_row(table, number, fields, Users(rows))


def at_position(rows: RowReader, table: int, position: int) -> VersionRow | None:
    """Return the last version up to a position."""
    number, found = last_up_to(rows, table, lambda fields: int(fields["position"]), position)
    return None if found is None else version_row(table, number, found, Users(rows))


def is_newest_at(rows: RowReader, table: int, position: int) -> bool:
    """Return whether a table has no version after a position."""
    number = newest(rows, table)
    return number < 0 or stored(rows, table, number)[1]["position"] <= position


def at_time(rows: RowReader, table: int, at: int) -> VersionRow | None:
    """Return the last version up to a time."""
    number, found = last_up_to(rows, table, lambda fields: int(fields["at"]), at)
    return None if found is None else version_row(table, number, found, Users(rows))


def last_up_to(
    rows: RowReader, table: int, of: Callable[[Fields], int], bound: int
) -> tuple[int, Fields | None]:
    """Return the last version whose field `of`, which rises with versions, is at most `bound`.

    (-1, None) if there is none.
    """
    numbers = range(newest(rows, table) + 1)
    after = bisect_right(numbers, bound, key=lambda number: of(stored(rows, table, number)[1]))
    return stored(rows, table, after - 1) if after else (-1, None)


def versions(rows: RowReader, table: int, limit: int, below: int | None) -> Iterator[VersionRow]:
    """Return versions, newest first."""
    count = newest(rows, table) + 1
    end = count if below is None else max(0, min(below, count))
    ends = pair_key(VERSION, max(0, table), 0), pair_key(VERSION, max(0, table), end)
    users = Users(rows)
    for key, data in rows.scan(*ends, limit=limit, reverse=True):
        yield version_row(table, last_number(key), read_value(data), users)


def table_reads(
    rows: RowReader, table: int, limit: int, below: int | None
) -> Iterator[TableReadRow]:
    """Return the commits that only read a table, newest first."""
    end = prefix_end(number_key(TABLE_READ, table))
    if below is not None:
        end = pair_key(TABLE_READ, table, min(below, NUMBER_MAX))
    ends = pair_key(TABLE_READ, table, 0), end
    for key, data in rows.scan(*ends, limit=limit, reverse=True):
        txn, wrote = read_value(data)
        yield TableReadRow(table, last_number(key), txn, tuple(wrote))


def stored(rows: RowReader, table: int, number: int) -> tuple[int, Fields]:
    """Return the row of a version; for a lost one the number and row of the version before it."""
    found: Fields | None = lookups.read(rows, pair_key(VERSION, table, number))
    if found is not None:
        return number, found
    ends = pair_key(VERSION, table, 0), pair_key(VERSION, table, number)
    for key, data in rows.scan(*ends, limit=1, reverse=True):
        return last_number(key), read_value(data)
    raise AssertionError(f"version {number} of table {table} has no row, nor has one before it")


def version_row(table: int, number: int, fields: Fields, users: Users) -> VersionRow:
    """Return a version, made from its row and the user of its session."""
    is_counted = fields.get("counted", 0) == fields.get("files", 0)
    return VersionRow(
        table,
        number,
        fields["position"],
        fields["at"],
        txn=fields.get("txn", 0),
        write_id=fields.get("write_id", 0),
        user=users[fields.get("session", 0)],
        operation=fields.get("operation", ""),
        level=fields.get("level", ""),
        blind=fields.get("blind", False),
        read_at=fields.get("read_at", 0),
        adds=fields.get("adds", 0),
        removes=fields.get("removes", 0),
        metadata_events=fields.get("metadata_events", 0),
        info=fields.get("info", ""),
        live_files=fields.get("files", 0),
        live_size=int(fields.get("size", 0)),
        live_rows=int(fields.get("rows", 0)) if is_counted else None,
    )


def app(rows: RowReader, table: int, name: str) -> AppRow | None:
    """Return how far an application came in a table."""
    is_one = lookups.is_row_number(table) and lookups.is_text(name)
    progress = lookups.read(rows, text_key(APP, table, name)) if is_one else None
    return None if progress is None else AppRow(table, name, *progress)


def apps(rows: RowReader, table: int) -> Iterator[AppRow]:
    """Return the applications that recorded progress in a table, by name."""
    prefix = number_key(APP, table)
    for key, data in rows.scan(prefix, prefix_end(prefix)):
        yield AppRow(table, last_text(key), *read_value(data))


def progress(rows: RowReader, app: str = "") -> Iterator[AppRow]:
    """Return the progress of applications in all tables, or of one, by table and name."""
    for key, data in rows.scan(APP, prefix_end(APP)):
        name = last_text(key)
        if app in ("", name):
            yield AppRow(number_in(key), name, *read_value(data))


def protocol(rows: RowReader, table: int) -> Protocol | None:
    """Return the protocol of a table after its last protocol action."""
    said = lookups.read_numbered(rows, PROTOCOL, table)
    return None if said is None else Protocol(*said)


def domains(rows: RowReader, table: int) -> Iterator[Domain]:
    """Return the domain metadata of a table, without removed domains, by name."""
    prefix = number_key(DOMAIN, table)
    for key, data in rows.scan(prefix, prefix_end(prefix)):
        yield Domain(last_text(key), read_value(data), removed=False)
