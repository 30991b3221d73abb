"""Version lookups: a version of a table by its number, its position or its time, from rows.

Positions and times never decrease with versions, so a search among n versions reads about log2(n)
rows. Versions are dense, except where a cut of the log left out lost ones. Progress of
applications, protocol and domain metadata are here too.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from ledger.core.commands import Domain, Protocol
from ledger.reads.port import AppRow, VersionRow
from projections.reads import lookups
from projections.rows.keys import (
    APP,
    DOMAIN,
    PROTOCOL,
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


def newest(rows: RowReader, table: int) -> int:
    """Return the newest version of a table, -1 if it has none."""
    sequence = lookups.read_numbered(rows, WRITE_IDS, table)
    return -1 if sequence is None else int(sequence.get("version", 0))


def version(rows: RowReader, table: int, number: int) -> VersionRow | None:
    """Return a version by its number, None for a lost one."""
    if not 0 <= number <= newest(rows, table):
        return None
    fields = lookups.read(rows, pair_key(VERSION, table, number))
    return None if fields is None else version_row(rows, table, number, fields)


def at_position(rows: RowReader, table: int, position: int) -> VersionRow | None:
    """Return the last version up to a position."""
    return last_up_to(rows, table, lambda fields: int(fields["position"]), position)


def is_newest_at(rows: RowReader, table: int, position: int) -> bool:
    """Return whether a table has no version after a position."""
    number = newest(rows, table)
    return number < 0 or stored(rows, table, number)[1]["position"] <= position


def at_time(rows: RowReader, table: int, at: int) -> VersionRow | None:
    """Return the last version up to a time."""
    return last_up_to(rows, table, lambda fields: int(fields["at"]), at)


def last_up_to(
    rows: RowReader, table: int, of: Callable[[Fields], int], bound: int
) -> VersionRow | None:
    """Return the last version whose field `of`, which rises with versions, is at most `bound`."""
    numbers = range(newest(rows, table) + 1)
    after = bisect_right(numbers, bound, key=lambda number: of(stored(rows, table, number)[1]))
    return version_row(rows, table, *stored(rows, table, after - 1)) if after else None


def versions(rows: RowReader, table: int, limit: int, below: int | None) -> Iterator[VersionRow]:
    """Return versions, newest first."""
    count = newest(rows, table) + 1
    end = count if below is None else max(0, min(below, count))
    ends = pair_key(VERSION, max(0, table), 0), pair_key(VERSION, max(0, table), end)
    for key, data in rows.scan(*ends, limit=limit, reverse=True):
        yield version_row(rows, table, last_number(key), read_value(data))


def stored(rows: RowReader, table: int, number: int) -> tuple[int, Fields]:
    """Return the row of a version; for a lost one the number and row of the version before it."""
    found: Fields | None = lookups.read(rows, pair_key(VERSION, table, number))
    if found is not None:
        return number, found
    ends = pair_key(VERSION, table, 0), pair_key(VERSION, table, number)
    for key, data in rows.scan(*ends, limit=1, reverse=True):
        return last_number(key), read_value(data)
    raise AssertionError(f"version {number} of table {table} has no row, nor has one before it")


def version_row(rows: RowReader, table: int, number: int, fields: Fields) -> VersionRow:
    """Return a version, made from its row and the row of its session."""
    asker = lookups.session(rows, fields.get("session", 0))
    return VersionRow(
        table,
        number,
        fields["position"],
        fields["at"],
        txn=fields.get("txn", 0),
        write_id=fields.get("write_id", 0),
        user=asker.user if asker is not None else "",
        operation=fields.get("operation", ""),
        level=fields.get("level", ""),
        blind=fields.get("blind", False),
        read_at=fields.get("read_at", 0),
        adds=fields.get("adds", 0),
        removes=fields.get("removes", 0),
        metadata_events=fields.get("metadata_events", 0),
        info=fields.get("info", ""),
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
