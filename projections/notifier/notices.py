"""Notices: what a commit or a lost conflict means to programs that know nothing of the log.

A notice is made from the event and the state after it alone, so a repeated notice is the same one.
A commit is a txn that committed, or a change of a table's metadata that is a version of its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ledger.core.commands import Column, TableWrite
from ledger.core.conflicts import operations
from ledger.core.conflicts.footprints import reads_anything
from ledger.core.events.events import Body, TableAltered, TableCreated, TxnAborted, TxnCommitted
from ledger.core.events.parts import CommittedPart, Evidence
from ledger.log.wire.file_list import FileList, chunks_of
from projections.rows.applied import Applied
from projections.rows.tables.partitions import rows_of


class TableNotice(NamedTuple):
    """One table of a notice; `version` -1 = none, `rows` and `size` None = unknown.

    `rows` and `size` are those of new files.
    """

    table: int
    name: str
    location: str
    columns: Sequence[Column]
    is_read: bool
    is_written: bool
    operation: str = ""
    version: int = -1
    rows: int | None = None
    size: int | None = None
    adds: int = 0
    removes: int = 0


class Notice(NamedTuple):
    """A commit, or a conflict that was lost for the reasons in `lost`; `at` is in milliseconds."""

    ledger: str
    ledger_name: str
    position: int
    at: int
    txn: int
    user: str
    application: str
    tables: Sequence[TableNotice]
    lost: Evidence | None = None


def notice_of(applied: Applied, body: Body) -> Notice | None:
    """Return the notice of an event, None for an event that is no commit and no lost conflict."""
    lost = None
    match body:
        case TxnCommitted():
            tables = [*map_parts(applied, body.parts), *map_writes(applied, body.reads)]
        case TableCreated() if not applied.control.txn:
            tables = [of_change(applied, body, 0, operations.CREATED)]
        case TableAltered() if body.one_shot:
            tables = [of_change(applied, body, body.version, operations.altered(body))]
        case TxnAborted() if body.evidence is not None:
            lost = body.evidence
            tables = list(map_writes(applied, body.attempted))
        case _:
            return None
    control, genesis = applied.control, applied.state.genesis
    assert genesis is not None, "a commit comes after the first event of its ledger"
    session = applied.state.sessions.by_number.get(control.session)
    return Notice(
        genesis.ledger,
        genesis.name,
        control.position,
        control.at,
        control.txn,
        "" if session is None else session.user,
        "" if session is None else session.application,
        tables,
        lost,
    )


def map_parts(applied: Applied, parts: Iterable[CommittedPart]) -> Iterator[TableNotice]:
    """Yield the tables that a commit wrote."""
    for part in parts:
        chunks = chunks_of(part, applied.ended.get(applied.control.txn))
        files = applied.files.get(part.table)
        told = of_table(applied, part.table, is_read=any(map(reads_anything, chunks)))
        operation = operations.committed(part, applied.changes)
        told = told._replace(is_written=True, operation=operation, version=part.version)
        yield told if files is None else counted(told, files)


def map_writes(applied: Applied, writes: Iterable[TableWrite]) -> Iterator[TableNotice]:
    """Yield the tables that a commit only read, or the tables of a lost commit."""
    for write in writes:
        footprint = write.footprint
        operation = operations.committed(write, applied.changes)
        is_written = bool(operation)
        told = of_table(
            applied,
            write.table,
            is_read=not is_written or (footprint is not None and reads_anything(footprint)),
        )
        yield told._replace(is_written=is_written, operation=operation)


def of_change(
    applied: Applied, body: TableCreated | TableAltered, version: int, operation: str
) -> TableNotice:
    """Return the table of a change of metadata outside a txn."""
    told = of_table(applied, body.table, is_read=False)
    return told._replace(is_written=True, operation=operation, version=version)


def of_table(applied: Applied, table: int, *, is_read: bool) -> TableNotice:
    """Return a table by its name and columns after the event; one that is gone has its id only."""
    touched = applied.tables.get(table)
    known = applied.state.tables.by_id.get(table) or (touched and touched.table)
    if not known:
        return TableNotice(table, str(table), "", (), is_read, is_written=False)
    return TableNotice(
        table,
        f"{known.catalog}.{known.name}",
        known.definition.location,
        known.definition.columns,
        is_read,
        is_written=False,
    )


def counted(told: TableNotice, files: FileList) -> TableNotice:
    """Return a table with the files that a commit adds and removes, and the rows that are new.

    A file that only gets another deletion vector is removed and added, and nothing of it is new.
    """
    removed = {file.path for file in files.removes}
    new = [file for file in files.adds if file.path not in removed]
    rows = [rows_of(file.stats) for file in new]
    known = [number for number in rows if number is not None]
    return told._replace(
        adds=len(files.adds),
        removes=len(files.removes),
        size=sum(file.size for file in new),
        rows=sum(known) if len(known) == len(rows) else None,
    )
