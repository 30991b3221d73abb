"""The command `diff`: what changed in the lake between two positions or times."""

from typing import Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows
from ledger.cli.failures import Stopped
from ledger.cli.options import NameOption
from ledger.cli.reading import reading, time_of, when
from ledger.clock import is_now
from ledger.machine.exit_codes import ExitCode
from ledger.reads.amounts import shown_size
from ledger.reads.port import Reads
from ledger.reads.whole_numbers import number_of
from projections.reads.lake_diff import FileSum, LakeDiff, TableDiff, lake_diff


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A position, or an ISO 8601 time.")],
    last: Annotated[
        str | None, typer.Argument(metavar="B", help="A later one; by default the newest position.")
    ] = None,
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what changed between two positions: tables, columns, files, rows, txns, by whom."""
    with reading(ledger, output) as (_, reads):
        newest = reads.position()
        begin = position_of(reads, "A", first, newest)
        end = newest if last is None else position_of(reads, "B", last, newest)
        if begin > end:
            raise Stopped(
                f"A must not be behind B, got position {begin} for A and {end} for B; swap them",
                ExitCode.USAGE,
            )
        found = lake_diff(reads, begin, end)
        tables = [table_fields(table) for table in found.tables]
        summary = summary_of(reads, found)
        if output is Output.JSON:
            answer({**summary, "tables": tables}, output)
            return
        answer({**summary, "tables": len(tables)}, output)
        answer_rows([line_of(table) for table in found.tables], output)


def position_of(reads: Reads, name: str, text: str, newest: int) -> int:
    """Return the position that an argument names; of a time, the last event up to it.

    Ends the command for a position behind the newest one.
    """
    position = number_of(text)
    if position is None:
        return position_at(reads, time_of(name, text), newest)
    if position > newest:
        raise Stopped(
            f"{name} must be at most {newest}, the newest position of the rows, got {position}",
            ExitCode.NOT_FOUND,
        )
    return position


def position_at(reads: Reads, at_ms: int, newest: int) -> int:
    """Return the position of the last event up to a time, 0 before the first one."""
    last = reads.history(newest - 1, 1) if newest else ()
    if last and is_now(at_ms, last[0].at):
        return newest
    known, beyond = 0, newest + 1
    while beyond - known > 1:
        middle = (known + beyond) // 2
        event, *_ = reads.history(middle - 1, 1)
        if event.at <= at_ms:
            known = middle
        else:
            beyond = middle
    return known


def summary_of(reads: Reads, found: LakeDiff) -> dict[str, Any]:
    """Return the facts about all tables as fields."""
    return {
        "from": found.first,
        "from_at": time_at(reads, found.first),
        "to": found.last,
        "to_at": time_at(reads, found.last),
        "events": found.last - found.first,
        "committed_txns": found.committed,
        "aborted_txns": found.aborted,
        "users": dict(found.users.most_common()),
    }


def time_at(reads: Reads, position: int) -> str | None:
    """Return the time of the event at a position, None for 0."""
    return when(reads.history(position - 1, 1)[0].at) if position else None


def table_fields(each: TableDiff) -> dict[str, Any]:
    """Return what became of a table as fields."""
    return {
        "table": each.row.table,
        "name": f"{each.row.catalog}.{each.row.name}",
        "change": each.change,
        "from_version": each.first,
        "to_version": each.last,
        "operations": dict(each.operations.most_common()),
        "users": dict(each.users.most_common()),
        "schema": each.schema,
        "files_added": each.added.files,
        "files_removed": each.removed.files,
        "bytes_added": each.added.bytes,
        "bytes_removed": each.removed.bytes,
        "rows_added": each.added.rows,
        "rows_removed": each.removed.rows,
    }


def line_of(each: TableDiff) -> dict[str, Any]:
    """Return what became of a table as one line."""
    return {
        "name": f"{each.row.catalog}.{each.row.name}",
        "change": each.change,
        "versions": f"{each.first}..{each.last}",
        "files": f"+{each.added.files} -{each.removed.files}",
        "bytes": f"+{shown_size(each.added.bytes)} -{shown_size(each.removed.bytes)}",
        "rows": f"+{rows_text(each.added)} -{rows_text(each.removed)}",
        "schema": "; ".join(each.schema),
        "users": ", ".join(each.users),
    }


def rows_text(files: FileSum) -> str:
    """Return a number of rows, "?" if the statistics do not say."""
    return "?" if files.rows is None else str(files.rows)
