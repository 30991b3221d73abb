"""Confirmation: what cannot be taken back is asked about, unless `--yes` answers before."""

import sys
from typing import Annotated

import typer

from ledger.cli.failures import Stopped
from ledger.machine.exit_codes import ExitCode

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, *, yes: bool) -> None:
    """Ask whether it is meant, and end the command if it is not.

    Without a terminal there is nobody to answer, so the command ends and says what to give.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise Stopped(
            f"this has to be confirmed, and there is no terminal to ask at: {question}; give --yes "
            "to answer in advance",
            ExitCode.USAGE,
        )
    typer.confirm(question, abort=True, err=True)
