"""Procedures that work on files: optimize, vacuum, and the way back to a version."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ledger.core.partitions.file_paths import path_key
from ledger.errors import UnknownTableError, UnreadableTableError
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile
from ledger.reads.amounts import amount
from ledger.reads.rows import FileRow
from ledger.tables.vacuum_report import VacuumReport
from spark_sink.catalog.read.metadata_tables import Rows
from spark_sink.catalog.reports import row_of
from spark_sink.catalog.session.open_statements import (
    CatalogState,
    Refusal,
    StatementsTxn,
    unsupported,
)
from spark_sink.catalog.write.constraints import check_files

Arguments = Mapping[str, str | None]

RESTORE: Final = "RESTORE"


def optimize(state: CatalogState, joined: StatementsTxn | None, given: Arguments) -> Rows:
    """Put the rows of small files into larger ones."""
    table, where = row_of(state, given).table, given["where"]
    size = given["target_bytes"]
    options: dict[str, Any] = {} if size is None else {"target_bytes": int(size)}
    with state.lend(joined) as txn:
        done = txn.optimize(table, where, **options)
    return [[done.removed, done.added]]


def vacuum(state: CatalogState, joined: StatementsTxn | None, given: Arguments) -> Rows:
    """Delete the files that no reader needs, of a table or of all, and return them."""
    if joined is not None:
        raise unsupported("vacuum deletes files at once: call it outside a transaction")
    hours = given["older_than_h"]
    options: dict[str, Any] = {} if hours is None else {"older_than_h": float(hours)}
    is_dry = given["dry_run"] == "true"
    if given["table"] is None:
        reports = whole(state.ledger.vacuum_all(dry_run=is_dry, **options))
        return [
            [f"{report.table.definition.location.rstrip('/')}/{each.path}", each.size]
            for report in reports
            for each in report.files
        ]
    name = str(given["table"]).removeprefix(f"{state.name}.")
    try:
        table = int(name) if name.isdecimal() else name
        (report,) = whole([state.ledger.vacuum(table, dry_run=is_dry, **options)])
    except UnknownTableError:
        raise Refusal("NoSuchTable", name) from None
    return [[each.path, each.size] for each in report.files]


def whole(reports: Sequence[VacuumReport]) -> Sequence[VacuumReport]:
    """Return the reports of a vacuum; raises the error that stopped it before its end."""
    if reports and reports[0].stopped_by:
        raise reports[0].stopped_by
    return reports


def rollback_to_version(
    state: CatalogState, joined: StatementsTxn | None, given: Arguments
) -> Rows:
    """Give a table the files that it had at a version.

    Raises UnreadableTableError if a file of that version was deleted since.
    """
    row, version = row_of(state, given), int(str(given["version"]))
    check_same_columns(state, row.table, version)
    key = key_of(row.definition.location)
    then = {key(each): each for each in state.ledger.read(row.table, version=version)}
    with state.lend(joined) as txn:
        statement = txn.statement(row.table, "rollback")
        now = {key(each): each for each in statement.read(None)}
        gone = [each for name, each in now.items() if name not in then]
        back = [each for name, each in then.items() if name not in now]
        check_there(row.definition.location, back)
        check_files(statement, back)
        statement.replace(gone, [again(each) for each in back], RESTORE)
    return [[len(gone), len(back)]]


def key_of(location: str) -> Callable[[FileRow], tuple[str, str]]:
    """Return a function that returns what identifies a file of a table."""
    return lambda file: (path_key(file.path, location), file.vector)


def check_same_columns(state: CatalogState, table: int, version: int) -> None:
    """Raise Refusal if a table had other columns at a version."""
    reads = state.ledger.reads()
    row = reads.table(table)
    then = reads.version_row(table, version=version)
    assert row is not None
    if then is None:
        raise unsupported(f"table {row.name} has no version {version}")
    before = reads.definition(table, then.position)
    if before is None or (before.columns, before.partition_columns) != (
        row.definition.columns,
        row.definition.partition_columns,
    ):
        raise unsupported(
            f"table {row.name} had other columns at version {version}: read that version, and "
            "overwrite the table with its rows"
        )


def check_there(location: str, files: list[FileRow]) -> None:
    """Raise UnreadableTableError for a file that was deleted."""
    storage = storage_at(location)
    lost = [each.path for each in files if not storage.exists(each.path)]
    if lost:
        raise UnreadableTableError(
            f"that version lacks {amount(len(lost), 'file')}, deleted since, such as {lost[0]}: "
            "choose a later version"
        )


def again(file: FileRow) -> AddFile:
    """Return a file of an earlier version as a commit adds it."""
    return AddFile(
        path=file.path,
        partition=tuple(file.partition),
        size=file.size,
        modified=file.modified,
        stats=file.stats,
        vector=file.vector,
        deletion_vector=file.deletion_vector,
        tags=file.tags,
    )
