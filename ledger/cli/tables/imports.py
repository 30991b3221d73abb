"""Commands that bring tables of other formats into a ledger."""

from pathlib import Path
from threading import Event as Signal
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from ledger.cli.answers import Output, OutputOption, answer, progress_bar, say
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption
from ledger.client import Ledger
from ledger.definitions.given import check_arrow
from ledger.delta.importer import folder_at, import_delta
from ledger.delta.report import ImportReport
from ledger.errors import SettingsError
from ledger.machine.exit_codes import ExitCode
from ledger.machine.process import heed_signals

APPLICATION = "lakeledger import delta"
ICEBERG_APPLICATION = "lakeledger import iceberg"
COLUMNS = (TextColumn("version"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
SNAPSHOTS = (TextColumn("snapshot"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
STOPPED = "stopped; started again, the import continues with the next"

imports = typer.Typer(no_args_is_help=True)


@imports.callback()
def of_format() -> None:
    """Import a table of another format."""


def delta_folder(text: str) -> Path:
    """Return the folder that a path or a URI means; raises BadParameter if it is not there."""
    try:
        found = folder_at(text)
    except SettingsError as error:
        raise typer.BadParameter(str(error)) from None
    if not found.is_dir():
        raise typer.BadParameter(f"PATH must be a folder that is there, got {text!r}")
    return found


@imports.command("delta")
def import_delta_table(
    path: Annotated[
        Path,
        typer.Argument(
            parser=delta_folder, metavar="PATH", help="The folder of the table, or its file: URI."
        ),
    ],
    table: Annotated[str, typer.Option(help="The name it gets in the ledger.")],
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with new versions until Ctrl-C.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Replay the log of a Delta table, one txn per version; a second run continues from there."""
    stop = Signal()
    with (
        Ledger.connect(ledger=ledger, catalog=catalog, application=APPLICATION) as connection,
        progress_bar("version", *COLUMNS) as progress,
    ):
        heed_signals(stop)  # Until here Ctrl-C ends it at once: nothing has begun.
        report = import_delta(connection, path, table, follow=follow, stop=stop, progress=progress)
    answer(fields_of(report), output)
    end(stop, "version", follow=follow)


@imports.command("iceberg")
def import_iceberg_table(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="The metadata file of the table, or the folder of a table without a catalog.",
        ),
    ],
    table: Annotated[str, typer.Option(help="The name it gets in the ledger.")],
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    newest: Annotated[
        bool,
        typer.Option(
            "--newest",
            help="PATH is a folder: take the metadata file with the highest number, though a "
            "commit that failed may have left it.",
        ),
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="FOLDER",
            help="Files of the table may lie here too, not only below its location.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with new snapshots until Ctrl-C.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Replay the snapshots of an Iceberg table; a second run continues with the new ones."""
    check_arrow()
    from ledger.iceberg.importer import import_iceberg  # noqa: PLC0415 - loads Arrow

    stop = Signal()
    with (
        Ledger.connect(
            ledger=ledger, catalog=catalog, application=ICEBERG_APPLICATION
        ) as connection,
        progress_bar("snapshot", *SNAPSHOTS) as progress,
    ):
        heed_signals(stop)  # Until here Ctrl-C ends it at once: nothing has begun.
        report = import_iceberg(
            connection,
            path,
            table,
            places=allow or (),
            newest=newest,
            follow=follow,
            stop=stop,
            progress=progress,
        )
    answer(report.fields(), output)
    end(stop, "snapshot", follow=follow)


def end(stop: Signal, what: str, *, follow: bool) -> None:
    """Say that an import was stopped; raises Exit if it was to end by itself."""
    if stop.is_set():
        say(f"{STOPPED} {what}")
    if stop.is_set() and not follow:
        raise typer.Exit(ExitCode.INTERRUPTED)


def fields_of(report: ImportReport) -> dict[str, Any]:
    """Return a report as JSON shows it, its versions as texts."""
    disagreed = {str(each.delta_version): each.reason for each in report.disagreed}
    unmatched: dict[str, list[str]] = {}
    for version, path in report.unmatched:
        unmatched.setdefault(str(version), []).append(path)
    return {
        **report._asdict(),
        "disagreed": disagreed,
        "unmatched": unmatched,
        "passed_over": dict(report.passed_over),
    }
