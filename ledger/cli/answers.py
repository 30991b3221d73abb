"""Answers of commands: on stdout as a table or JSON; messages about the work on stderr."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

# Between two columns of a pipe.
GAP: Final = "  "
# Characters that would move the cursor, or begin another line, are shown escaped.
CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class Output(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to write the answer.")]
# A command without an answer writes only why it failed.
FailureOption = Annotated[
    Output, typer.Option("--output", "-o", help="How to write why it failed.")
]


def answer(fields: dict[str, Any], output: Output) -> None:
    """Write one record: as JSON, or as a table of names and values."""
    if output is Output.JSON:
        print(json.dumps(fields, sort_keys=True))
        return
    write([(name, shown(value)) for name, value in fields.items()])


def answer_rows(rows: list[dict[str, Any]], output: Output) -> None:
    """Write many records of one form: as a JSON list, or as a table with a header."""
    if output is Output.JSON:
        print(json.dumps(rows, sort_keys=True))
        return
    if not rows:
        print("none")
        return
    write([tuple(map(shown, row.values())) for row in rows], header=tuple(rows[0]))


def write(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> None:
    """Write a table as wide as the terminal, or as `COLUMNS` says; else as wide as it is.

    Otherwise a reader of lines, such as grep, would find a path or a time cut in two.
    """
    if sys.stdout is not None and (sys.stdout.isatty() or os.environ.get("COLUMNS")):
        write_folded(rows, header)
        return
    for line in piped([header, *rows] if header else rows):
        print(line)


def write_folded(rows: Sequence[Sequence[str]], header: Sequence[str]) -> None:
    """Write a table for a screen; a text too long for its column continues in the next line."""
    from rich.console import Console  # noqa: PLC0415 - slow to load, and of no use to a pipe
    from rich.table import Column, Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    columns = [Column(name, overflow="fold") for name in header or ("name", "value")]
    table = Table(*columns, show_header=bool(header), box=None, header_style="bold")
    for row in rows:
        table.add_row(*map(Text, row))
    # A text between colons, such as the 100 of a list, must not become an emoji.
    console = Console(emoji=False)
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())


def piped(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table for a pipe: aligned columns, without trailing blanks."""
    from rich.cells import cell_len  # noqa: PLC0415 - slow to load

    cells = [[cell.split("\n") for cell in row] for row in rows]
    widths = [
        max(cell_len(line) for cell in column for line in cell)
        for column in zip(*cells, strict=True)
    ]
    for row in cells:
        for line in zip_longest(*row, fillvalue=""):
            padded = (
                part + " " * (width - cell_len(part))
                for part, width in zip(line, widths, strict=True)
            )
            yield GAP.join(padded).rstrip()


def shown(value: Any) -> str:
    """Return a value as a cell of a table; a list of records has a line for each."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {within(each)}" for name, each in value.items()) or "-"
    if isinstance(value, list | tuple):
        between = "\n" if any(isinstance(each, dict) for each in value) else ", "
        return between.join(shown(each) for each in value) or "-"
    return "-" if value is None or value == "" else str(value).translate(CONTROLS)


def within(value: Any) -> str:
    """Return a value within another, in brackets if it has parts of its own."""
    has_parts = isinstance(value, dict | list | tuple) and bool(value)
    return f"({shown(value)})" if has_parts else shown(value)


@contextmanager
def progress_bar(
    what: str, *columns: "ProgressColumn", transient: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Show progress on a terminal; yields a function that takes the amounts done and in all.

    `columns` replace the library's own; a `transient` bar disappears at its end.
    """
    from rich.console import Console  # noqa: PLC0415 - slow to load
    from rich.progress import Progress  # noqa: PLC0415

    err = Console(stderr=True, emoji=False)
    bar = Progress(*columns, console=err, disable=not err.is_terminal, transient=transient)
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda done, end: bar.update(task, completed=done, total=end)


def say(line: str) -> None:
    """Write a line about the work to stderr, if stderr has a reader."""
    with suppress(BrokenPipeError):
        print(line, file=sys.stderr, flush=True)
