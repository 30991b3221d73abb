"""Commands about conflicts: losers, winners, reasons, and what would have helped."""

from typing import Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows
from ledger.cli.failures import Stopped
from ledger.cli.log.log import whatif
from ledger.cli.options import NameOption, number_option
from ledger.cli.reading import LIST_MAX, LimitOption, brief, reading, when
from ledger.core.commands import Footprint, TableWrite
from ledger.core.evolve.form import footprint_form
from ledger.core.limits import NUMBER_MAX
from ledger.machine.exit_codes import ExitCode
from ledger.reads.port import ConflictRow, Reads
from ledger.reads.remote.http_form import form_of
from ledger.session.explain import explanation

CONFLICT_COLUMNS = ("position", "at", "txn", "user", "name", "exception", "over", "winner")

app = typer.Typer(no_args_is_help=True)
app.command("whatif")(whatif)


@app.command("list")
def conflict_list(
    ledger: NameOption = None,
    after: Annotated[int, number_option("Only those behind this position.")] = 0,
    limit: LimitOption = LIST_MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the commits that lost, oldest first."""
    with reading(ledger, output) as (_, reads):
        rows = [conflict_fields(reads, row) for row in reads.conflicts(after, limit)]
        answer_rows([brief(row, CONFLICT_COLUMNS, output) for row in rows], output)


@app.command("explain")
def conflict_explain(
    txn: Annotated[int | None, typer.Argument(metavar="[TXN]", min=0, max=NUMBER_MAX)] = None,
    ledger: NameOption = None,
    position: Annotated[
        int | None, number_option("For a commit without a txn: where it lost.", least=1)
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the winner over a txn, when, by which rule, where both met, and what helps."""
    if (txn is None) == (position is None):
        raise Stopped(
            "name a txn, or with --position the place where a commit without one lost",
            ExitCode.USAGE,
        )
    with reading(ledger, output) as (_, reads):
        row = reads.conflict(txn) if txn is not None else lost_at(reads, position or 0)
        if row is None:
            what = f"txn {txn}" if txn is not None else f"the command at position {position}"
            raise Stopped(
                f"{what} did not lose a conflict up to position {reads.position()}; see lakeledger "
                "conflict list",
                ExitCode.NOT_FOUND,
            )
        explained = explanation(reads, row.evidence, row.txn, row.position)
        if output is Output.JSON:
            attempted = [attempt_fields(write) for write in row.attempted]
            answer({**explained.as_dict(), "attempted": attempted}, output)
        else:
            typer.echo(str(explained))


def lost_at(reads: Reads, position: int) -> ConflictRow | None:
    """Return the conflict that was lost at a position."""
    found = reads.conflicts(position - 1, 1)
    return found[0] if found and found[0].position == position else None


def attempt_fields(write: TableWrite) -> dict[str, Any]:
    """Return one table of an attempted commit as fields; bytes as hex digits."""
    footprint = write.footprint
    return {
        "table": write.table,
        "read_at": write.read_at,
        "writes": [each._asdict() for each in write.writes],
        "footprint": None if footprint is None else footprint_fields(footprint),
    }


def footprint_fields(footprint: Footprint) -> dict[str, Any]:
    """Return what a part declared, by the names of its fields."""
    *files, rows = Footprint._fields
    form = footprint_form(footprint)[: len(files)]
    return {**dict(zip(files, form, strict=True)), rows: form_of(footprint.rows)}


def conflict_fields(reads: Reads, row: ConflictRow) -> dict[str, Any]:
    """Return a conflict as JSON shows it, with its explanation in words."""
    evidence, winner = row.evidence, row.evidence.winner
    explained = explanation(reads, row.evidence, row.txn, row.position)
    return {
        "position": row.position,
        "at": when(row.at),
        "txn": row.txn,
        "session": row.session,
        "user": row.user,
        "table": evidence.table,
        "name": explained.table,
        "exception": evidence.exception,
        "rule": evidence.rule,
        "unit": evidence.unit,
        "over": explained.unit_text,
        "operation": evidence.operation,
        "read_at": evidence.read_at,
        "level": evidence.level,
        "winner": f"txn {winner.txn} {winner.operation}".strip(),
        "winner_position": winner.position,
        "remedy": evidence.remedy,
    }
