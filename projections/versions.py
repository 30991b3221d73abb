"""Versions: the history of each table, commit by commit, as DESCRIBE HISTORY shows it.

Versions of a table are dense from 0, and positions and times never fall with them, so a version is
found by either without any other row. Outside a txn a change of a name is no version; neither is
an alter of an external table.
"""

from collections.abc import Iterator
from typing import Any, Final

from ledger import operations
from ledger.core.event_parts import CommittedPart
from ledger.core.events import TableAltered, TableCreated, TxnCommitted
from projections.applied import Applied
from projections.rows import VERSION, fields_value, pair_key
from projections.store.port import RowChange

Fields = dict[str, Any]

EVENTS: Final = (TxnCommitted, TableCreated, TableAltered)


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the row of every version that the event made."""
    for table, version, fields in described(applied):
        yield pair_key(VERSION, table, version), fields_value({**asked(applied), **fields})


def described(applied: Applied) -> Iterator[tuple[int, int, Fields]]:
    """Return table, version and the fields of their own of the versions that the event made."""
    control, body = applied.event
    match body:
        case TxnCommitted():
            for part in body.parts:
                yield part.table, part.version, committed(applied, part)
        case TableCreated() if not control.txn:
            yield body.table, 0, changed(body, operations.CREATED, control.at)
        case TableAltered(one_shot=True):
            fields = changed(body, operations.altered(body), body.committed_at)
            yield body.table, body.version, fields
        case _:
            pass


def asked(applied: Applied) -> Fields:
    """Return by what command a version came to be."""
    control = applied.event.control
    return {"position": control.position, "txn": control.txn, "session": control.session}


def committed(applied: Applied, part: CommittedPart) -> Fields:
    """Return the version that one table of a commit is."""
    files = applied.files.get(part.table)
    return {
        "at": part.committed_at,
        "write_id": part.write_id,
        "operation": operations.committed(part, applied.changes),
        "level": part.level,
        "blind": part.blind,
        "read_at": part.read_at,
        "adds": len(files.adds) if files is not None else 0,
        "removes": len(files.removes) if files is not None else 0,
        "metadata_events": part.metadata_events,
    }


def changed(body: TableCreated | TableAltered, operation: str, at: int) -> Fields:
    """Return the version that a change of metadata is by itself."""
    return {
        "at": at,
        "write_id": body.write_id,
        "operation": operation,
        "read_at": body.read_at,
        "metadata_events": 1,
    }
