"""Answers of commands: on stdout, as a table or in JSON; what is said about the work on stderr."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import Progress, ProgressColumn
from rich.table import Column, Table
from rich.text import Text

# As wide as a table may get where nobody looks at it on a screen.
PIPED_WIDTH: Final = 100_000

# What stands between colons in an answer, such as the 100 of a list, is no name of a picture.
out = Console(emoji=False)
err = Console(stderr=True, emoji=False)


class Output(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to write the answer.")]


def answer(fields: dict[str, Any], output: Output) -> None:
    """Write one record: as JSON, or as a table of names and values."""
    if output is Output.JSON:
        print(json.dumps(fields, sort_keys=True))
        return
    table = Table(*columns("name", "value"), show_header=False, box=None)
    for name, value in fields.items():
        table.add_row(name, Text(shown(value)))
    write(table)


def answer_rows(rows: list[dict[str, Any]], output: Output) -> None:
    """Write many records of one form: as a JSON list, or as a table with a header."""
    if output is Output.JSON:
        print(json.dumps(rows, sort_keys=True))
        return
    if not rows:
        out.print("none")
        return
    table = Table(*columns(*rows[0]), box=None, header_style="bold")
    for row in rows:
        table.add_row(*(Text(shown(value)) for value in row.values()))
    write(table)


def write(table: Table) -> None:
    """Write a table as wide as the terminal, or as `COLUMNS` says; a pipe gets a line for a row.

    What reads lines, such as grep, would else find a path or a time cut in two.
    """
    is_looked_at = out.is_terminal or os.environ.get("COLUMNS")
    Console(emoji=False, width=None if is_looked_at else PIPED_WIDTH).print(table)


def columns(*names: str) -> list[Column]:
    """Return the columns of a table; what is too long for one goes on in its next line."""
    return [Column(name, overflow="fold") for name in names]


def shown(value: Any) -> str:
    """Return a value as a cell of a table; a list of records has a line for each."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {within(each)}" for name, each in value.items()) or "-"
    if isinstance(value, list | tuple):
        between = "\n" if any(isinstance(each, dict) for each in value) else ", "
        return between.join(shown(each) for each in value) or "-"
    return "-" if value is None or value == "" else str(value)


def within(value: Any) -> str:
    """Return a value that stands within another, in brackets if it has parts of its own."""
    has_parts = isinstance(value, dict | list | tuple) and bool(value)
    return f"({shown(value)})" if has_parts else shown(value)


@contextmanager
def progress_bar(
    what: str, *columns: ProgressColumn, transient: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how far work is; yields what is told how much is done, and of how much.

    Other `columns` than those of the library may be shown; a `transient` bar goes when it ends.
    """
    bar = Progress(*columns, console=err, disable=not err.is_terminal, transient=transient)
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda done, end: bar.update(task, completed=done, total=end)


def say(line: str) -> None:
    """Write a line about the work to stderr."""
    err.print(line, highlight=False, markup=False, soft_wrap=True)
