"""Versions: the history of each table, commit by commit, as DESCRIBE HISTORY shows it.

Versions of a table are dense from 0, except where one stands above versions that a cut lost.
Positions and times never decrease with them, so a version is found by either without another row.
A rename outside a txn makes no version; neither does an alter of an external table.
"""

from collections.abc import Mapping
from typing import Final

from ledger.core.conflicts import operations
from ledger.core.events.events import Control, TableAltered, TableCreated, TxnCommitted
from ledger.core.events.parts import CommittedPart
from projections.rows.applied import Applied
from projections.rows.keys import VERSION, Fields, pair_key
from projections.rows.projection import Rows
from projections.store.port import RowChange


class VersionFields(Fields):
    """A version of a table: its position, time, command and changes."""

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


def committed(applied: Applied, body: TxnCommitted) -> list[RowChange]:
    """Return the versions that a commit made, one for each table."""
    return [
        (pair_key(VERSION, part.table, part.version), of_part(applied, part).value())
        for part in body.parts
    ]


def created(applied: Applied, body: TableCreated) -> list[RowChange]:
    """Return the first version of a table that exists at once."""
    if applied.control.txn:
        return []
    fields = of_change(applied.control, body, operations.CREATED, applied.control.at)
    return [(pair_key(VERSION, body.table, 0), fields.value())]


def altered(applied: Applied, body: TableAltered) -> list[RowChange]:
    """Return the version of an alter that is a commit of its own."""
    if not body.one_shot:
        return []
    fields = of_change(applied.control, body, operations.altered(body), body.committed_at)
    return [(pair_key(VERSION, body.table, body.version), fields.value())]


def of_part(applied: Applied, part: CommittedPart) -> VersionFields:
    """Return the version of one table of a commit."""
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
    )


def of_change(
    control: Control, body: TableCreated | TableAltered, operation: str, at: int
) -> VersionFields:
    """Return the version of a change of metadata outside a txn."""
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


ROWS: Final[Mapping[type, Rows]] = {
    TxnCommitted: committed,
    TableCreated: created,
    TableAltered: altered,
}
