"""Commands that clean up the data files of a table."""

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
)
from ledger.client import Ledger
from ledger.tables.data_files import TARGET_BYTES
from ledger.tables.vacuum import GRACE_H, Vacuum, VacuumReport
from projections.amounts import shown_size
from projections.cli.reading import known_table, reading

SHOWN_MAX = 20


def table_vacuum(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be deleted.")
    ] = False,
    older_than: Annotated[
        float,
        typer.Option(metavar="H", min=0, help="Keep files of the last so many hours."),
    ] = GRACE_H,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete the data files that no reader needs: removed ones, and ones that no commit named.

    The files are shown first; then the command asks, unless --yes is given.
    """
    with reading(ledger, output) as (_, reads):
        row = known_table(reads, catalog, name)
        vacuum = Vacuum(reads, row, older_than)
        with progress_bar("looking", transient=True) as progress:
            found = vacuum.run(dry_run=True, progress=progress)
        if not dry_run and len(found):
            show(found, "would be deleted")
            confirm(f"delete {len(found)} files of table {row.name}", yes=yes)
            with progress_bar("deleting", transient=True) as progress:
                found = vacuum.run(progress=progress)
        tell(found, output, "would be deleted" if dry_run else "deleted")


def tell(report: VacuumReport, output: Output, what: str) -> None:
    """Print what was deleted, or would be."""
    if output is Output.JSON:
        answer(
            {
                "dry_run": report.dry_run,
                "bytes": report.size,
                "note": report.note,
                "files": [each._asdict() for each in report.files],
            },
            output,
        )
        return
    if report.note:
        say(report.note)
    for each in report.files:
        typer.echo(f"{each.why:<8} {shown_size(each.size):>12} {each.path}")
    say(counted(report, what))


def show(report: VacuumReport, what: str) -> None:
    """Print the first files of a dry run, and how many there are."""
    for each in report.files[:SHOWN_MAX]:
        say(f"{each.why:<8} {shown_size(each.size):>12} {each.path}")
    if len(report) > SHOWN_MAX:
        say(f"and {len(report) - SHOWN_MAX} others; --dry-run lists all of them")
    say(counted(report, what))


def counted(report: VacuumReport, what: str) -> str:
    """Return in words how many files and bytes a vacuum deleted."""
    return f"{len(report)} files {what}, {shown_size(report.size)}"


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
