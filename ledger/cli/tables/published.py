"""Commands about the published log of a table: compare it, take over one, give one back."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Annotated, Any

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
from ledger.cli.reading import known_table, reading
from ledger.cli.roles.role import images_of
from ledger.cli.tables.imports import fields_of
from ledger.client import Ledger
from ledger.config.config import load
from ledger.config.search import find_address, log_of
from ledger.iceberg.imports.adopting import adopt_iceberg, is_imported
from ledger.log.replay import Replay
from ledger.machine.exit_codes import ExitCode
from ledger.properties.delta_readers import needs_of, refused
from ledger.reads.amounts import amount
from ledger.reads.port import TableRow
from projections.delta.actions.schema_json import UnpublishableError
from projections.delta.adopting import LogOwner
from projections.delta.log.log_marks import features_in
from projections.delta.log.object_log import log_at
from projections.delta.table_log import WrittenLog, write_table_log
from projections.delta.table_state import folder_of
from projections.delta.verify import LogReport, set_aside, verify_log


def published_fields(row: TableRow) -> dict[str, Any]:
    """Return what the log of a published table asks of readers, and which ones refuse it.

    Each of these readers has what it lacks. A log that cannot be read here is named.
    """
    try:
        features = features_in(log_at(folder_of(row.definition)))
    except (OSError, ValueError, UnpublishableError) as problem:
        return {"delta_features": f"not known, as the log cannot be read here: {problem}"}
    needs = {*features, *needs_of(row.definition)} if features else ()
    return {"delta_features": list(features), "refused_by": refused(needs)}


def table_verify(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    publish: Annotated[
        bool,
        typer.Option(
            "--publish", help="Publish anew what is missing or differs; keep foreign files aside."
        ),
    ] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the published Delta log of a table with the ledger, version by version.

    The command reads the events from the first on. It ends with an error if a version is missing,
    differs, or is not of this ledger, or if the table stopped.
    """
    with reading(ledger, output) as (address, reads):
        row = known_table(reads, catalog, name)
        with closing(log_of(address)) as log, progress_bar("reading", transient=True) as progress:
            whole = images_of(load()).whole(log)
            found = verify_log(Replay(whole, progress), row.table)
            if publish and found.findings:
                wrong = amount(len(found.findings), "version")
                confirm(f"publish {wrong} of table {row.name} anew", yes=yes)
                for kept in set_aside(found.findings, log_at(folder_of(row.definition))):
                    say(f"a file that is not of this ledger is kept as {kept}")
                write_table_log(Replay(whole, progress), row.table)
                found = verify_log(Replay(whole, progress), row.table)
        tell(row.name, found, output)
    if not found.is_clean:
        raise typer.Exit(ExitCode.FAILED)


def tell(name: str, report: LogReport, output: Output) -> None:
    """Print how the log of a table compares."""
    if output is Output.JSON:
        findings = [finding._asdict() for finding in report.findings]
        answer({**report._asdict(), "table": name, "findings": findings}, output)
        return
    for finding in report.findings:
        typer.echo(f"version {finding.version} {finding.finding}: {finding.path}")
    if report.stopped:
        typer.echo(f"stopped at {report.stopped}")
    if report.findings:
        say(f"lakeledger table verify {name} --publish publishes them anew")
    if report.cleaned:
        say(f"below the oldest checkpoint, not there: {amount(report.cleaned, 'version')}")
    say(f"{amount(report.compared, 'version')} compared, {len(report.findings)} not right")


def table_adopt(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take over the table that a table was imported from: from now on the ledger commits.

    The log of a Delta table continues in its folder, with the next version. Other programs read on,
    and are refused to write. The metadata of an Iceberg table stays as it is; its programs go on by
    the ledger's catalog, and a commit to the old metadata is named when the command runs again.
    """
    with owning(ledger, catalog) as owner:
        row = known_table(owner.ledger.reads(), catalog, name)
        if is_imported(owner.ledger, row):
            answer(adopt_iceberg(owner.ledger, row).fields(), output)
            return
        found = owner.adopt(row)
    answer({**fields_of(found.imported), **log_fields(found.log)}, output)
    if found.without_effect:
        say(f"kept without effect: {', '.join(found.without_effect)}")
    end(found.log)


def table_release(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    output: OutputOption = Output.TABLE,
) -> None:
    """End the publication of a table: its log is that of an ordinary Delta table again.

    The table stays in the ledger, which does not see what other programs commit from then on.
    """
    with owning(ledger, catalog) as owner:
        row = known_table(owner.ledger.reads(), catalog, name)
        found = owner.release(row)
    answer({"table": row.name, "folder": folder_of(row.definition), **log_fields(found)}, output)
    end(found)


@contextmanager
def owning(ledger: str | None, catalog: str) -> Iterator[LogOwner]:
    """Yield the owner of the logs of a ledger, with a bar while it reads events."""
    with (
        Ledger.connect(ledger=ledger, catalog=catalog) as connection,
        closing(log_of(find_address(ledger=ledger))) as kafka,
        progress_bar("reading", transient=True) as progress,
    ):
        yield LogOwner(connection, images_of(load()).whole(kafka), progress=progress)


def log_fields(log: WrittenLog) -> dict[str, Any]:
    """Return what a log has as fields."""
    return {"newest": log.newest, "written": log.written, "stopped": log.stopped}


def end(log: WrittenLog) -> None:
    """End the command with an error if a log cannot go on."""
    if log.stopped:
        say(f"the log cannot go on at {log.stopped}")
        raise typer.Exit(ExitCode.FAILED)
