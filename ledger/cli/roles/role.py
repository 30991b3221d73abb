"""Roles as commands: they run until they are stopped, and end with an exit code."""

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

    The role's log has the reason of its end; with JSON output it is the object of a failure.
    """
    report = (lambda error: tell(error, as_json=True)) if output is Output.JSON else None
    raise typer.Exit(role_process(role, run, with_parent=with_parent, report=report))
