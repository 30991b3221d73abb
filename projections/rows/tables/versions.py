"""Versions: the history of each table, commit by commit, as DESCRIBE HISTORY shows it.

Versions of a table are dense from 0, except where one stands above versions that a cut lost.
Positions and times never decrease with them, so a version is found by either without another row.
A rename outside a txn makes no version; neither does an alter of an external table.

A version holds the sums of the files that are live with it. The sums of now have a row of their own
as well, from which those of the next version are made.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ledger.core.conflicts import operations
from ledger.core.events.events import TableAltered, TableCreated, TxnCommitted
from ledger.core.events.parts import CommittedPart
from projections.rows.applied import Applied
from projections.rows.keys import TABLE_SUMS, VERSION, number_key, pair_key, reader_of
from projections.rows.projection import Rows
from projections.rows.tables import partitions
from projections.rows.tables.partitions import Sums
from projections.store.port import RowChange


class VersionFields(partitions.SumFields, kw_only=True):
    """A version of a table: its position, time, command and changes, and the sums of its files."""

    position: int
    txn: int = 0
    session: int = 0
    at: int = 0
    write_id: int = 0
    operation: str = ""
    level: str = ""
    blind: bool = False
    read_at: int = 0
    adds: int = 0
    removes: int = 0
    metadata_events: int = 0
    info: str = ""


read_sums: Final = reader_of(partitions.SumFields)


def committed(applied: Applied, body: TxnCommitted) -> Iterator[RowChange]:
    """Yield the versions that a commit made in the tables whose files it leaves as they are."""
    for part in body.parts:
        if part.table not in applied.files:
            yield from part_rows(applied, part, Sums())


def part_rows(applied: Applied, part: CommittedPart, sums: Sums) -> Iterator[RowChange]:
    """Yield the version of one table of a commit, which changes the sums of files by `sums`."""
    after = sums_now(applied, part.table)
    if sums != Sums():
        after.change(sums)
        yield number_key(TABLE_SUMS, part.table), after.value()
    yield pair_key(VERSION, part.table, part.version), of_part(applied, part, after).value()


def sums_now(applied: Applied, table: int) -> partitions.SumFields:
    """Return the sums of the files that are live before an event."""
    stored = applied.stored.get(number_key(TABLE_SUMS, table))
    return partitions.SumFields() if stored is None else read_sums(stored)


def created(applied: Applied, body: TableCreated) -> list[RowChange]:
    """Return the first version of a table that exists at once."""
    if applied.control.txn:
        return []
    fields = of_change(applied, body, operations.CREATED, applied.control.at)
    return [(pair_key(VERSION, body.table, 0), fields.value())]


def altered(applied: Applied, body: TableAltered) -> list[RowChange]:
    """Return the version of an alter that is a commit of its own."""
    if not body.one_shot:
        return []
    fields = of_change(applied, body, operations.altered(body), body.committed_at)
    return [(pair_key(VERSION, body.table, body.version), fields.value())]


def of_part(applied: Applied, part: CommittedPart, sums: partitions.SumFields) -> VersionFields:
    """Return the version of one table of a commit, after which its files have some sums."""
    control, files = applied.control, applied.files.get(part.table)
    return VersionFields(
        position=control.position,
        txn=control.txn,
        session=control.session,
        at=part.committed_at,
        write_id=part.write_id,
        operation=operations.committed(part, applied.changes),
        level=part.level,
        blind=part.blind,
        read_at=part.read_at,
        adds=len(files.adds) if files is not None else 0,
        removes=len(files.removes) if files is not None else 0,
        metadata_events=part.metadata_events,
        info=files.info if files is not None else "",
        **sums.named(),
    )


def of_change(
    applied: Applied, body: TableCreated | TableAltered, operation: str, at: int
) -> VersionFields:
    """Return the version of a change of metadata outside a txn."""
    control = applied.control
    return VersionFields(
        position=control.position,
        txn=control.txn,
        session=control.session,
        at=at,
        write_id=body.write_id,
        operation=operation,
        read_at=body.read_at,
        metadata_events=1,
        **sums_now(applied, body.table).named(),
    )


ROWS: Final[Mapping[type, Rows]] = {
    TxnCommitted: committed,
    TableCreated: created,
    TableAltered: altered,
}
