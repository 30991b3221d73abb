"""The command that shows what commits changed in a table."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final

import typer

from ledger.cli.answers import CONTROLS, Output, OutputOption
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption, TableArgument
from ledger.cli.reading import known_table, reading
from ledger.cli.streams import is_read
from ledger.cli.tables.row_values import cell, json_rows
from ledger.clock import time_text
from ledger.reads.amounts import amount, shown_size
from ledger.reads.port import FileChange, Reads, TableRow
from ledger.reads.whole_numbers import number_of
from ledger.session.receipt import Token
from ledger.snapshot.changes import ChangeFeed, CommitChanges, version_after

REACH_MS = 10_000


def table_changes(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    after: Annotated[
        str | None,
        typer.Option(metavar="V", help="Only behind this version, or behind a commit's token."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for further commits, until Ctrl-C.")
    ] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="The net change of rows in place of files.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the commits of a table, oldest first, each with what it added and removed.

    JSON has an object a line for each commit, with its files and the token to go on from, or for
    each changed row.
    """
    with reading(ledger, output) as (_, reads):
        row = known_table(reads, catalog, name)
        start = behind(reads, row, after)
        feed = ChangeFeed(reads, row, start, follow=follow, is_wanted=is_read)
        form = FORMS[rows, output]
        try:
            for commit in feed:
                for text in form(commit):
                    typer.echo(text)
                if not is_read():
                    return
        except KeyboardInterrupt:
            return


def behind(reads: Reads, row: TableRow, after: str | None) -> int:
    """Return the version that `--after` names; raises BadParameter for another text."""
    if after is None or (number := number_of(after)) is not None:
        return version_after(reads, row, number if after is not None else None)
    try:
        token = Token.parse(after)
        identity = reads.identity()
        position = token.position_in(Token(identity.ledger, identity.domain, 0))
    except ValueError as error:
        raise typer.BadParameter(f"--after must be a version or a token: {error}") from error
    reads.reach(position, token.seen, REACH_MS)
    return version_after(reads, row, None, position)


def line_of(commit: CommitChanges) -> Iterator[str]:
    """Yield a commit as people read it."""
    added = removed = size = 0
    has_data = False
    for each in commit:
        added += each.added
        removed += not each.added
        size += each.file.size if each.added else 0
        has_data = has_data or each.data_change
    notes = [f"{amount(added, 'file')} added, {removed} removed, {shown_size(size)}"]
    if (added or removed) and not has_data:
        notes.append("no rows changed")
    if commit.schema_changed:
        notes.append("schema changed")
    where = f"{commit.version:>8} at position {commit.position}"
    words = [where, time_text(commit.row.at), commit.operation, commit.user, "; ".join(notes)]
    yield " ".join(filter(None, words))


def json_line(commit: CommitChanges) -> Iterator[str]:
    """Yield a commit as a JSON object."""
    yield json.dumps(
        {
            "version": commit.version,
            "position": commit.position,
            "at": time_text(commit.row.at),
            "operation": commit.operation,
            "user": commit.user,
            "txn": commit.row.txn,
            "schema_changed": commit.schema_changed,
            "token": str(commit.token),
            "files": list(map(file_fields, commit)),
        }
    )


def row_lines(commit: CommitChanges) -> Iterator[str]:
    """Yield the rows that a commit changed, as people read them."""
    from ledger.snapshot.changed_rows import CHANGE_COLUMNS  # noqa: PLC0415 - loads DuckDB

    for batch in commit.rows().to_batches():
        for row in batch.to_pylist():
            change, version, *_ = (row.pop(column) for column in CHANGE_COLUMNS)
            cells = ", ".join(f"{name} {cell(value)}" for name, value in row.items())
            yield f"{version:>8} {change:<16} {cells}".translate(CONTROLS)


def json_row_lines(commit: CommitChanges) -> Iterator[str]:
    """Yield the rows that a commit changed as JSON objects."""
    for batch in commit.rows().to_batches():
        if batch.num_rows:
            yield json_rows(batch.to_pylist())


def file_fields(change: FileChange) -> dict[str, Any]:
    """Return a changed file as JSON shows it, without statistics."""
    return {
        "added": change.added,
        "data_change": change.data_change,
        "path": change.file.path,
        "vector": change.file.vector,
        "partition": change.file.partition,
        "size": change.file.size,
    }


FORMS: Final[Mapping[tuple[bool, Output], Callable[[CommitChanges], Iterator[str]]]] = {
    (False, Output.TABLE): line_of,
    (False, Output.JSON): json_line,
    (True, Output.TABLE): row_lines,
    (True, Output.JSON): json_row_lines,
}
