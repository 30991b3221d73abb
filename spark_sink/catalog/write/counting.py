"""How many rows a statement of Spark changed, for the history, receipts and `last_statement`.

Spark counts the rows of an UPDATE, DELETE or MERGE. Rows of an insert are those of its files.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from ledger.log.wire.file_list import AddFile
from ledger.reads.row_counts import ChangedRows
from ledger.reads.rows import FileRow
from ledger.statements.deleting import rows_in
from spark_sink.catalog.read.metadata_tables import Columns, Rows
from spark_sink.catalog.session.open_statements import (
    CatalogState,
    LastStatement,
    Question,
    StatementsTxn,
)

Arguments = Mapping[str, str | None]

LAST: Final[Columns] = (
    ("operation", "string"),
    ("table", "string"),
    ("num_affected_rows", "bigint"),
    ("num_updated_rows", "bigint"),
    ("num_deleted_rows", "bigint"),
    ("num_inserted_rows", "bigint"),
)


def rows_of(adds: Iterable[AddFile]) -> int:
    """Return how many rows are in new files, by their statistics."""
    return sum(rows_in(add) or 0 for add in adds)


def rows_rewritten(
    asked: Question, removed: Iterable[FileRow], adds: Iterable[AddFile]
) -> ChangedRows | None:
    """Return the rows that an UPDATE, DELETE or MERGE changed, None if they were not counted.

    Spark does not count all of them. A DELETE takes the rows that are no longer in files.
    """
    told: Mapping[str, int] = asked.get("rows") or {}
    counts = {name: int(told.get(name, 0)) for name in ChangedRows._fields}
    if told and min(counts.values()) >= 0:
        return ChangedRows(**counts)
    before = [rows_in(file) for file in removed]
    if str(asked["mode"]) != "delete" or None in before:
        return None
    return ChangedRows(deleted=sum(count or 0 for count in before) - rows_of(adds))


def note_last(
    state: CatalogState, asked: Question, table: str, operation: str, rows: ChangedRows | None
) -> None:
    """Remember the rows of the last statement of a session."""
    state.note_last(str(asked.get("session") or ""), LastStatement(operation, table, rows))


def last_statement(state: CatalogState, _: StatementsTxn | None, given: Arguments) -> Rows:
    """Return how many rows the last statement of the session changed, nothing before the first."""
    last = state.last(str(given["session"] or ""))
    if last is None:
        return []
    rows = last.rows
    if rows is None:
        return [[last.operation, last.table, None, None, None, None]]
    return [[last.operation, last.table, rows.affected, rows.updated, rows.deleted, rows.inserted]]
