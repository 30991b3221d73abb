"""The root of the command line, under which every package puts commands of its own.

An error is one readable paragraph and an exit code of `ledger.machine.process.ExitCode`; `--debug`
shows where it came from.
"""

import os
import sys
import traceback
from functools import cache
from importlib.metadata import entry_points, version
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from ledger.cli.answers import err
from ledger.cli.sequencer import init, serve_sequencer
from ledger.cli.up import up
from ledger.errors import LedgerError
from ledger.loading import ended_at_once
from ledger.machine.process import ExitCode, exit_code, set_up_logging

DISTRIBUTION = "lakeledger"
COMMANDS = "lakeledger.commands"

app = typer.Typer(
    name="lakeledger",
    help="LakeLedger: the transaction manager of a data lake.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
serve = typer.Typer(help="Run one role in this process, for a supervisor of your own.")
app.add_typer(serve, name="serve")
app.command()(up)
app.command()(init)
serve.command("sequencer")(serve_sequencer)


def tell_version(*, wanted: bool) -> None:
    """Say which version is installed, if that is asked for, and end."""
    if wanted:
        print(f"{DISTRIBUTION} {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def root(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Log more, show tracebacks.")] = False,
    is_version: Annotated[  # noqa: ARG001 - answered before any command is looked for
        bool,
        typer.Option(
            "--version",
            callback=lambda wanted: tell_version(wanted=wanted),
            is_eager=True,
            help="Say which version is installed, and end.",
        ),
    ] = False,
) -> None:
    """Set up what every command shares."""
    set_up_logging(debug=debug)
    if debug:
        os.environ["LAKELEDGER_DEBUG"] = "1"


@cache
def whole_app() -> typer.Typer:
    """Return the root command with what every installed package adds to it."""
    for point in entry_points(group=COMMANDS):
        point.load()(app)
    return app


def main() -> None:
    """Run the command line; never ends with a traceback unless `--debug` asks for it."""
    try:
        with ended_at_once():
            run = whole_app()
        run()
    except LedgerError as error:
        end_with(exit_code(error), error)
    except Exception as error:  # noqa: BLE001 - whoever typed a command is told in a sentence
        end_with(ExitCode.FAILED, error)


def end_with(code: ExitCode, error: Exception) -> NoReturn:
    """Say what went wrong, with `--debug` also where, and end with a code."""
    if "LAKELEDGER_DEBUG" in os.environ:
        traceback.print_exception(error)
    else:
        err.print(f"[bold red]{type(error).__name__}[/]:", Text(str(error)), soft_wrap=True)
    sys.exit(code)
