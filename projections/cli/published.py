"""The command that compares the published log of a table with the ledger."""

from contextlib import closing

import typer

from ledger.cli.answers import Output, OutputOption, answer, progress_bar, say
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption
from ledger.log.replay import Replay
from ledger.machine.exit_codes import ExitCode
from projections.cli.reading import known_table, reading
from projections.delta.verify import LogReport, verify_log


def table_verify(
    name: str,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the published Delta log of a table with the ledger, version by version.

    The command reads the events from the first on. It ends with an error if a version is missing or
    differs, or if the table stopped.
    """
    with reading(ledger, output) as (address, reads):
        row = known_table(reads, catalog, name)
        with closing(address.log()) as kafka, progress_bar("reading", transient=True) as progress:
            found = verify_log(Replay(kafka, progress), row.table)
        tell(row.name, found, output)
    if not found.is_clean:
        raise typer.Exit(ExitCode.FAILED)


def tell(name: str, report: LogReport, output: Output) -> None:
    """Print how the log of a table compares."""
    if output is Output.JSON:
        findings = [each._asdict() for each in report.findings]
        answer({**report._asdict(), "table": name, "findings": findings}, output)
        return
    for each in report.findings:
        typer.echo(f"version {each.version} {each.finding}: {each.path}")
    if report.stopped:
        typer.echo(f"stopped at {report.stopped}")
    if report.findings:
        say("delete the files that differ; serve publisher writes them, and the missing ones, anew")
    say(f"{report.compared} versions compared, {len(report.findings)} are not right")
