"""Versions: the history of each table, commit by commit, as DESCRIBE HISTORY shows it.

Versions of a table are dense from 0, and positions and times never fall with them, so a version is
found by either without any other row. Outside a txn a change of a name is no version; neither is
an alter of an external table.
"""

from collections.abc import Iterator
from typing import Final

from ledger import operations
from ledger.core.event_parts import CommittedPart
from ledger.core.events import Control, TableAltered, TableCreated, TxnCommitted
from projections.applied import Applied
from projections.rows import VERSION, Fields, pair_key
from projections.store.port import RowChange

EVENTS: Final = (TxnCommitted, TableCreated, TableAltered)


class VersionFields(Fields):
    """A version of a table: where and when it came to be, by what command, and what it did."""

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


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the row of every version that the event made."""
    for table, version, fields in described(applied):
        yield pair_key(VERSION, table, version), fields.value()


def described(applied: Applied) -> Iterator[tuple[int, int, VersionFields]]:
    """Return table, number and fields of the versions that the event made."""
    control, body = applied.event
    match body:
        case TxnCommitted():
            for part in body.parts:
                yield part.table, part.version, committed(applied, part)
        case TableCreated() if not control.txn:
            yield body.table, 0, changed(control, body, operations.CREATED, control.at)
        case TableAltered(one_shot=True):
            fields = changed(control, body, operations.altered(body), body.committed_at)
            yield body.table, body.version, fields
        case _:
            pass


def committed(applied: Applied, part: CommittedPart) -> VersionFields:
    """Return the version that one table of a commit is."""
    control, files = applied.event.control, applied.files.get(part.table)
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
    )


def changed(
    control: Control, body: TableCreated | TableAltered, operation: str, at: int
) -> VersionFields:
    """Return the version that a change of metadata is by itself."""
    return VersionFields(
        position=control.position,
        txn=control.txn,
        session=control.session,
        at=at,
        write_id=body.write_id,
        operation=operation,
        read_at=body.read_at,
        metadata_events=1,
    )
