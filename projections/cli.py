"""Commands over the read model: status, txns, tables, the watermark, and the follower itself.

They read the follower's store on this host and say as of which position they speak. Ending somebody
else's txn and forgetting aborted ones are commands to the ledger and go through the SDK.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event as Signal
from typing import Annotated, Any

import typer
from rich.progress import Progress

from ledger.address import Address, find_address
from ledger.cli import (
    BootstrapOption,
    LedgerOption,
    NameOption,
    Output,
    OutputOption,
    WithParentOption,
    answer,
    answer_rows,
    err,
    say,
    serve,
)
from ledger.client import Ledger
from ledger.errors import RefusedError, SettingsError, UnknownTableError
from ledger.log.kafka import KafkaLog
from ledger.log.port import Topic
from ledger.process import ExitCode, role_process
from ledger.reads import Reads, TableRow, TxnRow
from projections.follower import follow
from projections.queries import open_reads

LIST_MAX = 50
TXN_COLUMNS = ("txn", "status", "type", "owner", "opened_at", "reason")
TABLE_COLUMNS = ("table", "name", "kind", "layout", "version", "last_write_id")

txn = typer.Typer(help="Look at txns, and end them.", no_args_is_help=True)
table = typer.Typer(help="Look at tables.", no_args_is_help=True)
watermark = typer.Typer(help="What may be cleaned, and what holds it back.", no_args_is_help=True)

LimitOption = Annotated[int, typer.Option(min=1, help="At most so many rows.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    serve.command("follower")(serve_follower)
    app.add_typer(txn, name="txn")
    app.add_typer(table, name="table")
    app.add_typer(watermark, name="watermark")
    app.command()(status)
    app.command()(clean)


def serve_follower(
    bootstrap: BootstrapOption,
    store: Annotated[Path, typer.Option(help="The folder of the rows.")],
    ledger: LedgerOption = "lake",
    *,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the rows anew.")] = False,
    with_parent: WithParentOption = False,
) -> None:
    """Fold the log into rows that every process of this host can read."""

    def run(stop: Signal) -> None:
        log = KafkaLog(bootstrap, ledger)
        with closing(log), Progress(console=err, disable=not err.is_terminal) as bar:
            task = bar.add_task("catching up", total=None)
            follow(
                log,
                store,
                stop,
                rebuild=rebuild,
                progress=lambda read, end: bar.update(task, completed=read, total=end),
            )

    raise typer.Exit(role_process("follower", run, with_parent=with_parent))


@contextmanager
def reading(ledger: str | None) -> Iterator[tuple[Address, Reads]]:
    """Open the rows of the ledger that is up on this host."""
    address = find_address(ledger=ledger)
    if address.store is None:
        raise SettingsError(
            f"no rows of ledger {address.ledger} are kept on this host; run a follower here and "
            "set LAKELEDGER_STORE to its folder"
        )
    with closing(open_reads(address.store)) as reads:
        say(f"as of position {reads.position()}")
        yield address, reads


def status(ledger: NameOption = None, output: OutputOption = Output.TABLE) -> None:
    """Say who leads, how far the rows are behind, and what is open."""
    with reading(ledger) as (address, reads):
        end, leader = ends_of(address)
        mark = reads.watermark()
        newest = reads.history(max(0, reads.position() - 1), 1)
        answer(
            {
                "ledger": address.ledger,
                "id": reads.identity().ledger,
                "bootstrap": address.bootstrap,
                "leader": leader,
                "position": reads.position(),
                "records_in_log": end,
                "last_event": when(newest[0].at) if newest else None,
                "open_txns": len(reads.open_txns(LIST_MAX)),
                "aborted_txns": len(reads.aborted_txns(LIST_MAX)),
                "tables": len(reads.tables()),
                "next_txn": mark.next_txn,
                "watermark": mark.watermark,
            },
            output,
        )
    if leader is None:
        say("no sequencer has beaten for a second: commands wait until one leads")
        raise typer.Exit(ExitCode.UNHEALTHY)


def ends_of(address: Address) -> tuple[int, dict[str, Any] | None]:
    """Return the end of the log, and the leader with its epoch if it beats within a second."""
    log = KafkaLog(address.bootstrap, address.ledger)
    with closing(log):
        end = log.ends(Topic.EVENTS)[1]
        with closing(log.reader(Topic.BEATS, log.ends(Topic.BEATS)[1])) as beats:
            heard = beats.read(1, 1.0)
        return end, json.loads(heard[0].value) if heard else None


@txn.command("list")
def txn_list(
    ledger: NameOption = None,
    *,
    aborted: Annotated[bool, typer.Option("--aborted", help="Aborted ones not forgotten.")] = False,
    limit: LimitOption = LIST_MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the open txns, oldest first."""
    with reading(ledger) as (_, reads):
        found = reads.aborted_txns(limit) if aborted else reads.open_txns(limit)
        answer_rows([brief(txn_fields(row), TXN_COLUMNS, output) for row in found], output)


@txn.command("show")
def txn_show(
    number: Annotated[int, typer.Argument(metavar="TXN")],
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one txn from open to end, with the evidence if it lost a conflict."""
    with reading(ledger) as (_, reads):
        row = reads.txn(number)
        if row is None:
            say(f"there is no txn {number} up to position {reads.position()}")
            raise typer.Exit(ExitCode.NOT_FOUND)
        evidence = row.evidence._asdict() if row.evidence else None
        if evidence is not None:
            evidence["winner"] = row.evidence.winner._asdict() if row.evidence else None
        parts = [part._asdict() for part in row.parts]
        answer({**txn_fields(row), "parts": parts, "evidence": evidence}, output)


@txn.command("abort")
def txn_abort(
    number: Annotated[int, typer.Argument(metavar="TXN")],
    ledger: NameOption = None,
    reason: Annotated[str, typer.Option(help="Stands in the log.")] = "aborted by an operator",
    *,
    yes: YesOption = False,
) -> None:
    """Abort a txn, whoever opened it; what it wrote counts as unknown."""
    if not yes:
        typer.confirm(f"abort txn {number}? its producer loses its work", abort=True)
    with Ledger.connect(ledger=ledger) as connection:
        connection.abort(number, reason)
    say(f"txn {number} is aborted; next: lakeledger txn show {number}")


@table.command("list")
def table_list(
    ledger: NameOption = None,
    *,
    dropped: Annotated[bool, typer.Option("--dropped", help="Dropped ones too.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the tables."""
    with reading(ledger) as (_, reads):
        rows = reads.tables(include_dropped=dropped)
        answer_rows([brief(table_fields(row), TABLE_COLUMNS, output) for row in rows], output)


@table.command("show")
def table_show(
    name: str,
    ledger: NameOption = None,
    catalog: Annotated[str, typer.Option(help="The catalog of the name.")] = "main",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one table and the write ids that are not cleaned yet."""
    with reading(ledger) as (_, reads):
        row = reads.table_named(catalog, name)
        if row is None:
            raise unknown_table(catalog, name)
        valid = reads.valid_write_ids(row.table, reads.valid_txns())
        definition = row.definition
        answer(
            {
                **table_fields(row),
                "location": definition.location,
                "columns": [f"{column.name} {column.type}" for column in definition.columns],
                "partitioned_by": list(definition.partition_columns),
                "properties": {each.key: each.value for each in definition.properties},
                "valid_write_ids": valid.text(),
                "mappings": [f"{each.write_id}->{each.txn}" for each in reads.mappings(row.table)],
            },
            output,
        )


def unknown_table(catalog: str, name: str) -> RefusedError:
    """Return the error for a name nobody holds."""
    return UnknownTableError(
        f"there is no table {catalog}.{name}; see lakeledger table list", reason="UnknownTable"
    )


@watermark.command("explain")
def watermark_explain(ledger: NameOption = None, output: OutputOption = Output.TABLE) -> None:
    """Say below which txn mappings may go, what holds that back, since when, and at what cost."""
    with reading(ledger) as (_, reads):
        answer(explanation(reads), output)


def explanation(reads: Reads) -> dict[str, Any]:
    """Return the watermark, its bounds, and what pins it, as fields."""
    mark = reads.watermark()
    held = sum(len(reads.mappings(row.table)) for row in reads.tables())
    fields: dict[str, Any] = {
        "watermark": mark.watermark,
        "next_txn": mark.next_txn,
        "least_txn_seen_open": mark.open_bound,
        "least_aborted_with_data": mark.aborted_bound,
        "mappings_kept": held,
    }
    if mark.aborted is not None and mark.aborted_bound == mark.watermark:
        names = [row.name for row in map(reads.table, mark.tables) if row is not None]
        fields["held_by"] = f"aborted txn {mark.aborted.txn} with data in {', '.join(names)}"
        fields["since"] = when(mark.aborted.ended_at)
        fields["remedy"] = f"remove its files, then: lakeledger clean --txn {mark.aborted.txn}"
    elif mark.open is not None:
        fields["held_by"] = (
            f"open txn {mark.open.txn} of {mark.open.user}@{mark.open.host}, which saw txn "
            f"{mark.open.min_open} open"
        )
        fields["since"] = when(mark.open.opened_at)
        fields["remedy"] = f"let it end, or: lakeledger txn abort {mark.open.txn}"
    else:
        fields["held_by"] = "nothing"
    return fields


def clean(
    ledger: NameOption = None,
    txn: Annotated[
        list[int] | None, typer.Option(help="An aborted txn whose data is gone.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="With --write-id: the table.")] = None,
    write_id: Annotated[
        list[int] | None, typer.Option(help="A write id whose data is gone.")
    ] = None,
    *,
    yes: YesOption = False,
) -> None:
    """Tell the ledger what compaction removed: no file under these ids can be reached any more."""
    if bool(txn) == bool(table and write_id):
        say("name either --txn, or --table with --write-id")
        raise typer.Exit(ExitCode.USAGE)
    what = f"txns {txn}" if txn else f"write ids {write_id} of {table}"
    if not yes:
        typer.confirm(
            f"is the data of {what} gone? readers will take these ids as valid", abort=True
        )
    started_s = time.monotonic()
    with Ledger.connect(ledger=ledger) as connection:
        if txn:
            receipt = connection.forget_aborted(txns=txn)
        else:
            receipt = connection.forget_aborted(table=table, write_ids=write_id or ())
    say(
        f"forgotten: {what}, at {receipt} after {time.monotonic() - started_s:.2f} s; "
        "next: lakeledger watermark explain"
    )


def brief(fields: dict[str, Any], columns: Sequence[str], output: Output) -> dict[str, Any]:
    """Return what fits a line of a terminal; programs get every field."""
    return fields if output is Output.JSON else {name: fields[name] for name in columns}


def txn_fields(row: TxnRow) -> dict[str, Any]:
    """Return a txn as fields."""
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


def table_fields(row: TableRow) -> dict[str, Any]:
    """Return a table as fields."""
    return {
        "table": row.table,
        "catalog": row.catalog,
        "name": row.name,
        "kind": row.definition.kind,
        "layout": row.definition.layout,
        "version": row.version,
        "last_write_id": row.last_write_id,
        "created": row.created,
        "changed": row.changed,
        "operation": row.operation,
        "dropped": row.dropped,
    }


def when(at_ms: int) -> str | None:
    """Return a time as ISO 8601 in UTC, None for 0."""
    return (
        datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
        if at_ms
        else None
    )
