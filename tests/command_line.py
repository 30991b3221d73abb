"""The command line within the process of the tests: in one of its own it takes a second to load."""

import os
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import structlog
from typer.testing import CliRunner, Result

from ledger.cli import whole_app
from ledger.errors import LedgerError
from ledger.process import exit_code


class Done(NamedTuple):
    """What a command ended with, and what it said, as `subprocess` has it."""

    returncode: int
    stdout: str
    stderr: str


def invoked(*arguments: str, **environ: str) -> Result:
    """Run a command, and leave nothing of its logging behind; an error stays an exception."""
    try:
        return CliRunner().invoke(whole_app(), arguments, env=environ)
    finally:
        structlog.reset_defaults()


def done_in(folder: Path, *arguments: str, **environ: str) -> Done:
    """Run a command in a folder, with these variables alone, and end it as its process ends."""
    absent = dict.fromkeys(os.environ.keys() - environ.keys() - {"PATH"})
    try:
        with chdir(folder):
            result = CliRunner().invoke(whole_app(), arguments, env={**absent, **environ})
    finally:
        structlog.reset_defaults()
    error = result.exception
    if isinstance(error, LedgerError):
        return Done(exit_code(error), result.stdout, f"{type(error).__name__}: {error}\n")
    return Done(result.exit_code, result.stdout, result.stderr)
