"""Commands about cleaning: what may be deleted, what holds it back, and what was deleted."""

import shlex
import time
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import typer

from ledger.cli.answers import Output, OutputOption, answer, say
from ledger.cli.failures import Stopped
from ledger.cli.options import (
    CONFIGURED,
    CatalogOption,
    NameOption,
    YesOption,
    confirm,
    number_option,
)
from ledger.cli.reading import LIST_MAX, LimitOption, known_table, known_txns, reading, when
from ledger.client import Ledger
from ledger.machine.exit_codes import ExitCode
from ledger.reads.port import FileRow, MappingRow, Reads, TableMarkRow, TableRow, WatermarkRow

app = typer.Typer(no_args_is_help=True)


@app.command("explain")
def watermark_explain(
    ledger: NameOption = None,
    table: Annotated[str | None, typer.Option(help="The mark of this table's files.")] = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    since: Annotated[int, number_option("With --table: files removed from this position on.")] = 0,
    path: Annotated[str, typer.Option(help="At --since itself, only those behind this path.")] = "",
    limit: LimitOption = LIST_MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what may be cleaned, what holds that back, since when, and at what cost.

    Without a table: the txn below which mappings may go. With a table: its files that may go.
    """
    if table is None and (since or path):
        raise Stopped(
            "--since and --path need --table: they select files of one table", ExitCode.USAGE
        )
    with reading(ledger, output) as (_, reads):
        if table is None:
            answer(explanation(reads), output)
            return
        row = known_table(reads, catalog, table)
        mark = reads.table_mark(row.table)
        found = reads.released_files(row.table, limit, since=since, path=path)
        ids = reads.aborted_write_ids(row.table, limit)
        answer({**mark_fields(row, mark), **released_fields(found, ids, output)}, output)
        if len(found) == limit:
            last = found[-1]
            say(f"there may be more: --since {last.removed} --path {shlex.quote(last.path)}")


def explanation(reads: Reads) -> dict[str, Any]:
    """Return the watermark, its bounds and its holders, as fields."""
    mark = reads.watermark()
    fields: dict[str, Any] = {
        "watermark": mark.watermark,
        "next_txn": mark.next_txn,
        "least_txn_seen_open": mark.open_bound,
        "least_aborted_with_data": mark.aborted_bound,
        "mappings_kept": reads.counts().mappings,
    }
    found = holders(reads, mark)
    fields["held_by"] = "; ".join(each.text for each in found) or "nothing"
    if found:
        fields["since"] = when(min(each.since for each in found))
        fields["remedy"] = "; ".join(each.remedy for each in found)
    return fields


class Holder(NamedTuple):
    """A txn that holds the watermark, since when, and what helps."""

    text: str
    since: int
    remedy: str


def holders(reads: Reads, mark: WatermarkRow) -> list[Holder]:
    """Return the holders of the watermark: an aborted txn, an open one, or one of each."""
    found: list[Holder] = []
    if mark.aborted is not None:
        names = [row.name for row in map(reads.table, mark.tables) if row is not None]
        text = f"aborted txn {mark.aborted.txn} with data in {', '.join(names)}"
        remedy = f"remove its files, then: lakeledger clean --txn {mark.aborted.txn}"
        found.append(Holder(text, mark.aborted.ended_at, remedy))
    if mark.open is not None:
        text = f"open txn {mark.open.txn} of {mark.open.user}@{mark.open.host}"
        if mark.open.min_open < mark.open.txn:
            text += f", which saw txn {mark.open.min_open} open"
        remedy = f"let it end, or: lakeledger txn abort {mark.open.txn}"
        found.append(Holder(text, mark.open.opened_at, remedy))
    return found


def mark_fields(row: TableRow, mark: TableMarkRow) -> dict[str, Any]:
    """Return how far a table may be cleaned and what holds that back, as fields."""
    fields: dict[str, Any] = {
        "table": row.table,
        "name": f"{row.catalog}.{row.name}",
        "layout": row.definition.layout,
        "dropped": row.dropped,
        "files_removed_up_to": mark.position,
        "write_ids_below": mark.write_id,
        "held_by": "nothing",
    }
    if mark.open is None:
        return fields
    opened = mark.open
    return {
        **fields,
        "held_by": f"open txn {opened.txn} of {opened.user}@{opened.host}, type {opened.type}",
        "txn": opened.txn,
        "session": opened.session,
        "since": when(opened.opened_at),
        "age_s": max(0, round(time.time() - opened.opened_at / 1000)),
        "versions_held": row.version - mark.version,
        "remedy": f"let it end, or: lakeledger txn abort {opened.txn}",
    }


def released_fields(
    files: Sequence[FileRow], ids: Sequence[MappingRow], output: Output
) -> dict[str, Any]:
    """Return the files and ids of a table that may go, as fields; JSON has the next start too."""
    if output is Output.JSON:
        return {
            "released_files": [{"path": file.path, "removed": file.removed} for file in files],
            "aborted_write_ids": [each._asdict() for each in ids],
        }
    return {
        "released_files": [file.path for file in files],
        "aborted_write_ids": [f"{each.write_id} of txn {each.txn}" for each in ids],
    }


def clean(
    ledger: NameOption = None,
    txn: Annotated[list[int] | None, number_option("An aborted txn whose data is gone.")] = None,
    table: Annotated[
        str | None, typer.Option(help="With --write-id: the table, or its id.")
    ] = None,
    write_id: Annotated[list[int] | None, number_option("A write id whose data is gone.")] = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Record what compaction removed: no file under these ids can be reached any more."""
    if bool(table) != bool(write_id) or bool(txn) == bool(table):
        raise Stopped("name either --txn, or --table with --write-id", ExitCode.USAGE)
    what = f"txns {txn}" if txn else f"write ids {write_id} of {table}"
    confirm(f"is the data of {what} gone? readers will take these ids as valid", yes=yes)
    started_s = time.monotonic()
    with Ledger.connect(ledger=ledger) as connection:
        if txn:
            with known_txns(connection):
                receipt = connection.forget_aborted(txns=txn)
        else:
            row = known_table(connection.reads(), catalog, table or "")
            receipt = connection.forget_aborted(table=row, write_ids=write_id or ())
    seconds = round(time.monotonic() - started_s, 2)
    if output is Output.JSON:
        fields = {"txns": txn or [], "table": table, "write_ids": write_id or []}
        answer({**fields, "position": receipt.position, "seconds": seconds}, output)
        return
    say(
        f"forgotten: {what}, at position {receipt.position} after {seconds:.2f} s; next: "
        "lakeledger watermark explain"
    )
