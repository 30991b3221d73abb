"""The command line within the process of the tests: in one of its own it takes a second to load.

Roles need one of their own: they take its signals for themselves.
"""

import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import structlog
from typer.testing import CliRunner, Result

from ledger.cli.root import app
from ledger.errors import LedgerError
from ledger.machine.process import exit_code

# Where the program lies that is tested: a folder that is worked in may not have it.
ROOT = Path(__file__).parent.parent


class Done(NamedTuple):
    """What a command ended with, and what it said, as `subprocess` has it."""

    returncode: int
    stdout: str
    stderr: str


def invoked(*arguments: str, **environ: str) -> Result:
    """Run a command, and leave nothing of its logging behind; an error stays an exception."""
    try:
        return CliRunner().invoke(app, arguments, env=environ)
    finally:
        structlog.reset_defaults()


def done_in(folder: Path, *arguments: str, **environ: str) -> Done:
    """Run a command in a folder, with these variables alone, and end it as its process ends."""
    absent = dict.fromkeys(os.environ.keys() - environ.keys() - {"PATH"})
    try:
        with chdir(folder):
            result = CliRunner().invoke(app, arguments, env={**absent, **environ})
    finally:
        structlog.reset_defaults()
    error = result.exception
    if isinstance(error, LedgerError):
        return Done(exit_code(error), result.stdout, f"{type(error).__name__}: {error}\n")
    return Done(result.exit_code, result.stdout, result.stderr)


def done_apart(folder: Path, *arguments: str, **environ: str) -> Done:
    """Run a command in a folder, with these variables alone, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "ledger", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
