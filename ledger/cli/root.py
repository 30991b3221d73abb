"""The root of the command line, under which every package puts commands of its own.

An error is one readable paragraph, or with `--output json` one object, and an exit code of
`ledger.machine.process.ExitCode`; `--debug` shows where it came from.
"""

import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points, version
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ledger.cli.acl import acl
from ledger.cli.backup import backup, restore
from ledger.cli.failures import Stopped, tell, wants_json
from ledger.cli.sequencer import init, serve_sequencer
from ledger.cli.streams import flush, is_read, read_no_more, show_every_letter
from ledger.cli.up import up
from ledger.loading import ended_at_once
from ledger.machine.process import DEBUG, ExitCode, set_up_logging
from ledger.private import make_all_private

DISTRIBUTION = "lakeledger"
COMMANDS = "lakeledger.commands"


class Root(TyperGroup):
    """The root command: ends well where its reader is gone, and tells what its parser refuses."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> NoReturn:
        """Run a command and end the process, unless by an error that is no matter of its use."""
        arguments = sys.argv[1:] if args is None else list(args)
        try:
            code = super().main(arguments, *more, **{**extra, "standalone_mode": False})
        except typer.TyperException as error:
            code = tell(error, as_json=wants_json(arguments))
        except typer.Abort:
            declined = Stopped("not confirmed: nothing was done", ExitCode.FAILED)
            code = tell(declined, as_json=wants_json(arguments))
        except SystemExit:
            code = ExitCode.DONE  # So ends what writes help, where its reader has read enough.
        sys.exit(code or ExitCode.DONE)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a reader that has read enough, such as head, ends it without an error."""
        try:
            found = super().invoke(ctx)
            flush()
        except BrokenPipeError:
            if is_read():
                raise
            read_no_more()
            raise typer.Exit from None
        return found


app = typer.Typer(
    cls=Root,
    name="lakeledger",
    help="LakeLedger: the transaction manager of a data lake.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
serve = typer.Typer(help="Run one role in this process, for a supervisor of your own.")
app.add_typer(serve, name="serve")
app.command()(up)
app.command()(init)
app.command()(acl)
app.command()(backup)
app.command()(restore)
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
        os.environ[DEBUG] = "1"


@cache
def whole_app() -> typer.Typer:
    """Return the root command with what every installed package adds to it."""
    for point in entry_points(group=COMMANDS):
        point.load()(app)
    return app


def main() -> None:
    """Run the command line; never ends with a traceback unless `--debug` asks for it."""
    make_all_private()
    show_every_letter()
    try:
        with ended_at_once():
            run = whole_app()
        run()
    except Exception as error:  # noqa: BLE001 - whoever typed a command is told in a sentence
        code = tell(error, as_json=wants_json(sys.argv[1:]))
    try:
        flush()
    except OSError:
        read_no_more()  # It was told, and Python would tell it again with a traceback.
    sys.exit(code)
