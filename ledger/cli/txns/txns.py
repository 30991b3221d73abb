"""Commands that look at txns, and one that ends them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows, say
from ledger.cli.options import NameOption, TxnArgument, YesOption, confirm
from ledger.cli.reading import LIST_MAX, LimitOption, brief, known_txns, no_txn, reading, when
from ledger.client import Ledger
from ledger.errors import LedgerError
from ledger.reads.port import Reads, TxnRow
from ledger.session.explain import explanation
from projections.rows.txns.conflicts import evidence_form

TXN_COLUMNS = ("txn", "status", "type", "owner", "opened_at", "reason")

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def txn_list(
    ledger: NameOption = None,
    *,
    aborted: Annotated[
        bool, typer.Option("--aborted", help="Include aborted txns still kept.")
    ] = False,
    limit: LimitOption = LIST_MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the open txns, oldest first."""
    with reading(ledger, output) as (_, reads):
        found = reads.aborted_txns(limit) if aborted else reads.open_txns(limit)
        answer_rows([brief(txn_fields(row), TXN_COLUMNS, output) for row in found], output)


@app.command("show")
def txn_show(
    number: TxnArgument, ledger: NameOption = None, output: OutputOption = Output.TABLE
) -> None:
    """Show one txn from open to end, with the evidence if it lost a conflict."""
    with reading(ledger, output) as (_, reads):
        row = reads.txn(number)
        if row is None:
            raise no_txn(reads, number)
        parts = [part._asdict() for part in row.parts]
        lost = lost_by(reads, row, output)
        answer({**txn_fields(row), "parts": parts, "evidence": lost}, output)


@app.command("abort")
def txn_abort(
    number: TxnArgument,
    ledger: NameOption = None,
    reason: Annotated[str, typer.Option(help="Recorded in the log.")] = "aborted by an operator",
    *,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Abort a txn of any client; the ledger assumes that it left data."""
    with Ledger.connect(ledger=ledger) as connection, known_txns(connection):
        if not yes:
            check_known(connection, number)
        confirm(f"abort txn {number}? its producer loses its work", yes=yes)
        receipt = connection.abort(number, reason)
    if output is Output.JSON:
        answer({"txn": number, "status": "aborted", "position": receipt.position}, output)
        return
    say(f"txn {number} is aborted; next: lakeledger txn show {number}")


def check_known(connection: Ledger, number: int) -> None:
    """End the command if the rows can be read and do not hold the txn."""
    with suppress(LedgerError):
        reads = connection.reads()
        if reads.txn(number) is None:
            raise no_txn(reads, number)


def lost_by(reads: Reads, row: TxnRow, output: Output) -> Mapping[str, Any] | str | None:
    """Return why a txn lost, None if it did not: evidence for programs, for people a summary."""
    found = row.evidence
    if found is None or output is Output.JSON:
        return found and evidence_form(found)
    summary = explanation(reads, found, row.txn, row.ended).summary
    return f"{found.exception}: {summary}. See lakeledger conflict explain {row.txn}"


def txn_fields(row: TxnRow) -> dict[str, Any]:
    """Return a txn as JSON shows it; its times are in UTC."""
    return {
        "txn": row.txn,
        "status": row.status,
        "type": row.type,
        "session": row.session,
        "owner": f"{row.user}@{row.host} {row.application}".strip(),
        "opened": row.opened,
        "opened_at": when(row.opened_at),
        "ended": row.ended,
        "ended_at": when(row.ended_at),
        "forgotten": row.forgotten,
        "reason": row.reason,
        "tables": [part.table for part in row.parts],
    }
