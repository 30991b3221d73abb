"""Roles as commands: they run until they are told to stop, and end with the code of why."""

from collections.abc import Callable
from threading import Event as Signal
from typing import NoReturn

import typer

from ledger.cli.answers import Output
from ledger.cli.failures import tell
from ledger.machine.process import role_process


def run_role(
    role: str, run: Callable[[Signal], None], *, with_parent: bool, output: Output
) -> NoReturn:
    """Run a role to its end, and end the command with its code.

    Why it ended stands in a line of its log, or for programs in the object of every failure.
    """
    told = (lambda error: tell(error, as_json=True)) if output is Output.JSON else None
    raise typer.Exit(role_process(role, run, with_parent=with_parent, report=told))
