"""Procedures that work on files: optimize, vacuum, and the way back to a version or a time."""

from collections.abc import Mapping, Sequence
from typing import Any

from ledger.errors import UnknownTableError
from ledger.tables.vacuum_report import VacuumReport
from spark_sink.catalog.read.metadata_tables import Rows
from spark_sink.catalog.read.versions import moment
from spark_sink.catalog.reports import row_of
from spark_sink.catalog.session.open_statements import (
    CatalogState,
    Refusal,
    StatementsTxn,
    unsupported,
)

Arguments = Mapping[str, str | None]


def optimize(state: CatalogState, joined: StatementsTxn | None, given: Arguments) -> Rows:
    """Put the rows of small files into larger ones, or all rows in order if columns say which."""
    table, where = row_of(state, given).table, given["where"]
    size = given["target_bytes"]
    options: dict[str, Any] = {} if size is None else {"target_bytes": int(size)}
    if given["sort_by"] is not None:
        options["sort_by"] = [given["sort_by"]]
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
        reports = finished_reports(state.ledger.vacuum_all(dry_run=is_dry, **options))
        return [
            [f"{report.table.definition.location.rstrip('/')}/{file.path}", file.size]
            for report in reports
            for file in report.files
        ]
    name = str(given["table"]).removeprefix(f"{state.name}.")
    try:
        table = int(name) if name.isdecimal() else name
        (report,) = finished_reports([state.ledger.vacuum(table, dry_run=is_dry, **options)])
    except UnknownTableError:
        raise Refusal("NoSuchTable", name) from None
    return [[file.path, file.size] for file in report.files]


def finished_reports(reports: Sequence[VacuumReport]) -> Sequence[VacuumReport]:
    """Return the reports of a vacuum; raises the error that stopped it before its end."""
    if reports and reports[0].stopped_by:
        raise reports[0].stopped_by
    return reports


def rollback_to_version(
    state: CatalogState, joined: StatementsTxn | None, given: Arguments
) -> Rows:
    """Give a table the columns and the rows that it had at a version; raises as `restore`."""
    table, version = row_of(state, given).table, int(str(given["version"]))
    with state.lend(joined) as txn:
        done = txn.restore(table, version=version)
    return [[done.removed, done.added]]


def rollback_to_timestamp(
    state: CatalogState, joined: StatementsTxn | None, given: Arguments
) -> Rows:
    """Give a table the columns and the rows that it had at a time; raises as `restore`."""
    table, at = row_of(state, given).table, moment(int(str(given["timestamp"])))
    with state.lend(joined) as txn:
        done = txn.restore(table, at=at)
    return [[done.removed, done.added]]


def undrop(state: CatalogState, joined: StatementsTxn | None, given: Arguments) -> Rows:
    """Bring back a dropped table; raises as `undrop_table`."""
    with state.lend(joined) as txn:
        row = txn.undrop_table(str(given["table"]))
    if joined is not None:
        joined.rename("", row.name)
    return [[row.name, row.table]]
