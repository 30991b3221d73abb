"""Confirmation of commands that cannot be undone, unless `--yes` is given."""

import sys
from typing import Annotated

import typer

from ledger.cli.failures import Stopped
from ledger.machine.exit_codes import ExitCode

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation, and end the command without it.

    Without a terminal nothing can answer: the command ends and names the option to give.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise Stopped(
            f"this must be confirmed, and there is no terminal: {question}; give --yes to confirm "
            "in advance",
            ExitCode.USAGE,
        )
    typer.confirm(question, abort=True, err=True)
