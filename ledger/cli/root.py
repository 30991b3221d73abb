"""The root of the command line: `ledger.cli.commands` lists what it runs.

An error is one readable paragraph, or with `--output json` one object, and an exit code of
`ledger.machine.process.ExitCode`; `--debug` adds the traceback.
"""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, NoReturn

import typer

from ledger.cli.commands import COMMANDS, ROLES
from ledger.cli.failures import Stopped, tell, wants_json
from ledger.cli.lazy import LazyGroup, later
from ledger.cli.loading import ended_at_once
from ledger.cli.plain_values import load_no_validators
from ledger.cli.streams import flush, is_read, read_no_more, show_every_letter
from ledger.config.private import make_all_private
from ledger.log_lines import DEBUG
from ledger.machine.exit_codes import ExitCode

DISTRIBUTION = "lakeledger"


class Root(LazyGroup):
    """The root command: handles a reader that is gone, and reports what its parser refuses."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> NoReturn:
        """Run a command and end the process; only errors that are not of its use are raised."""
        arguments = sys.argv[1:] if args is None else list(args)
        try:
            code = super().main(arguments, *more, **{**extra, "standalone_mode": False})
        except typer.TyperException as error:
            code = tell(error, as_json=wants_json(arguments))
        except typer.Abort:
            declined = Stopped("not confirmed: nothing was done", ExitCode.FAILED)
            code = tell(declined, as_json=wants_json(arguments))
        except SystemExit:
            code = ExitCode.DONE  # Help was written to a reader that has read enough.
        sys.exit(code or ExitCode.DONE)

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read the options; this loads their modules, so Ctrl-C ends the process."""
        load_no_validators(self)
        with ended_at_once():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a reader such as head, which has read enough, is not an error."""
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
serve = typer.Typer(
    cls=LazyGroup,
    name="serve",
    help="Run one role in this process, for a supervisor of your own.",
    no_args_is_help=True,
)
app.add_typer(serve)
for command in COMMANDS:
    later(app, *command)
for role in ROLES:
    later(serve, *role)


def tell_version(*, wanted: bool) -> None:
    """Print the installed version and end, if `wanted`."""
    if wanted:
        print(f"{DISTRIBUTION} {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def root(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Log more, show tracebacks.")] = False,
    token_file: Annotated[
        str | None, typer.Option(metavar="<path>", help="A file with the token for HTTP servers.")
    ] = None,
    ca_file: Annotated[
        str | None, typer.Option(metavar="<path>", help="The certificates to trust for https.")
    ] = None,
    is_version: Annotated[  # noqa: ARG001 - answered before any command is looked for
        bool,
        typer.Option(
            "--version",
            callback=lambda wanted: tell_version(wanted=wanted),
            is_eager=True,
            help="Show the installed version, and end.",
        ),
    ] = False,
) -> None:
    """Set up what every command shares."""
    with ended_at_once():
        from ledger.machine.process import set_up_logging  # noqa: PLC0415 - not for --version
    set_up_logging(debug=debug)
    if debug:
        os.environ[DEBUG] = "1"
    for name, file in (("TOKEN_FILE", token_file), ("CA_FILE", ca_file)):
        if file is not None:
            os.environ[f"LAKELEDGER_{name}"] = file


def main() -> None:
    """Run the command line; never ends with a traceback unless `--debug` asks for it."""
    make_all_private()
    show_every_letter()
    try:
        app()
    except Exception as error:  # noqa: BLE001 - every failure becomes a sentence
        code = tell(error, as_json=wants_json(sys.argv[1:]))
    try:
        flush()
    except OSError:
        read_no_more()  # It is reported already; Python would add a traceback.
    sys.exit(code)
