"""Commands that clean up the data files of a table."""

from collections.abc import Sequence
from typing import Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer, progress_bar, say
from ledger.cli.options import (
    CONFIGURED,
    CatalogOption,
    NameOption,
    TableArgument,
    YesOption,
    confirm,
    named_tables,
)
from ledger.cli.reading import known_table, reading
from ledger.client import Ledger
from ledger.files.data_files import TARGET_BYTES
from ledger.reads.amounts import amount, shown_size
from ledger.reads.port import Reads
from ledger.tables.vacuum import GRACE_H, Vacuum, cleaned_tables
from ledger.tables.vacuum_report import VacuumReport

SHOWN_MAX = 20


def table_vacuum(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", autocompletion=named_tables)
    ] = None,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    all_: Annotated[
        bool, typer.Option("--all", help="All tables of the catalog, dropped ones too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be deleted.")
    ] = False,
    older_than: Annotated[
        float, typer.Option(metavar="H", min=0, help="Keep files younger than this many hours.")
    ] = GRACE_H,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete the data files that no reader needs: removed ones, and ones that no commit named.

    NAME is the name of a table, also of a dropped one, or its id. With a name go the files of the
    dropped tables that had it. The files are shown first; then the command asks, unless --yes is
    given.
    """
    if (name is None) != all_:
        raise typer.BadParameter("give either NAME or --all")
    with reading(ledger, output) as (_, reads):
        given = None if name is None else given_table(reads, catalog, name)
        rows = cleaned_tables(reads, catalog, given)
        work = Vacuum(reads, rows, older_than, is_lenient=all_)
        with progress_bar("looking", transient=True) as bar:
            found = (
                work.run_all(dry_run=True, progress=bar)
                if all_
                else [work.run(dry_run=True, progress=bar)]
            )
        files = sum(map(len, found))
        if not dry_run and files:
            for each in found:
                show(each, "would be deleted")
            which = f"table {rows[0].name}" if rows and not all_ else "all tables"
            confirm(f"delete {amount(files, 'file')} of {which}", yes=yes)
            with Ledger.connect(ledger=ledger, catalog=catalog) as client:
                found = (
                    client.vacuum_all(older_than_h=older_than)
                    if given is None
                    else [client.vacuum(given, older_than_h=older_than)]
                )
        tell(found, output, "would be deleted" if dry_run else "deleted")
        if found and found[0].stopped_by:
            raise found[0].stopped_by


def given_table(reads: Reads, catalog: str, name: str) -> str | int:
    """Return the name or the id of a table that is or was there; raises UnknownTableError."""
    if cleaned_tables(reads, catalog, name):
        return name
    return known_table(reads, catalog, name).table


def tell(reports: Sequence[VacuumReport], output: Output, what: str) -> None:
    """Print what was deleted, or would be."""
    for report in reports:
        if output is Output.JSON:
            fields = {
                "table": report.table.name,
                "id": report.table.table,
                "dry_run": report.dry_run,
                "bytes": report.size,
                "note": report.note,
                "files": [file._asdict() for file in report.files],
            }
            answer(fields, output)
            continue
        if report.note:
            say(f"{report.table.name}: {report.note}")
        for file in report.files:
            typer.echo(f"{file.why:<8} {shown_size(file.size):>12} {file.path}")
        say(counted(report, what))
    if not reports and output is not Output.JSON:
        say(f"0 files {what}")


def show(report: VacuumReport, what: str) -> None:
    """Print the first files of a dry run, and how many there are."""
    for file in report.files[:SHOWN_MAX]:
        say(f"{file.why:<8} {shown_size(file.size):>12} {file.path}")
    if len(report) > SHOWN_MAX:
        say(f"and {len(report) - SHOWN_MAX} more; --dry-run lists all of them")
    say(counted(report, what))


def counted(report: VacuumReport, what: str) -> str:
    """Return in words how many files and bytes a vacuum deleted."""
    dropped = " (dropped)" if report.table.dropped else ""
    files = amount(len(report), "file")
    return f"{report.table.name}{dropped}: {files} {what}, {shown_size(report.size)}"


def table_optimize(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    where: Annotated[
        str | None, typer.Option(help="Only partitions that fulfil this condition.")
    ] = None,
    target_bytes: Annotated[
        int, typer.Option(min=1, help="The size of the files to make.")
    ] = TARGET_BYTES,
    output: OutputOption = Output.TABLE,
) -> None:
    """Put the rows of small files, and of files with deleted rows, into larger files.

    No row changes. The old files stay until a vacuum, for readers of earlier versions.
    """
    with Ledger.connect(ledger=ledger, catalog=catalog) as client:
        row = known_table(client.reads(), catalog, name)
        found = client.run(lambda txn: txn.optimize(row, where, target_bytes=target_bytes))
    answer({"table": row.name, "removed": found.removed, "added": found.added}, output)


def table_flush(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    output: OutputOption = Output.TABLE,
) -> None:
    """Put the rows of a table that lie in the log into files.

    No row changes. The process `serve flusher` does it by itself.
    """
    with Ledger.connect(ledger=ledger, catalog=catalog) as client:
        row = known_table(client.reads(), catalog, name)
        found = client.run(lambda txn: txn.flush(row))
    answer({"table": row.name, "blocks": found.removed, "files": found.added}, output)
