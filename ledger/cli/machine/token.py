"""Commands over the tokens of HTTP servers: they make, list and revoke them.

A token is printed or written once, when it is made; its server's file holds only a hash.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from ledger.cli.answers import FailureOption, Output, OutputOption, answer_rows, say
from ledger.cli.failures import Stopped
from ledger.clock import time_text
from ledger.config.private import write_private
from ledger.config.tokens import NEVER, KnownToken, change_tokens, read_tokens
from ledger.errors import SettingsError
from ledger.machine.exit_codes import ExitCode

DAY_MS: Final = 24 * 3600 * 1000
DAYS_MAX: Final = 36_500

FileOption = Annotated[
    Path, typer.Option("--file", metavar="<path>", help="The file of a server, as in web.tokens.")
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME")]

app = typer.Typer(no_args_is_help=True)


@app.command()
def new(
    name: NameArgument,
    file: FileOption,
    days: Annotated[
        float | None,
        typer.Option(min=0.001, max=DAYS_MAX, help="How long it is valid; by default for good."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="<path>", help="Write it there, for its owner, and do not print it."),
    ] = None,
    *,
    write: Annotated[
        bool, typer.Option("--write", help="It may make changes; by default it may only read.")
    ] = False,
    output: FailureOption = Output.TABLE,  # noqa: ARG001 - `main` reports the failure
) -> None:
    """Make a token, add its hash to a file of a server, and print the token once."""
    ends_ms = None if days is None else now_ms() + round(days * DAY_MS)
    known, token = KnownToken.made(name, ends_ms, may_write=write)

    def added(tokens: Sequence[KnownToken]) -> Sequence[KnownToken]:
        if any(each.name == name for each in tokens):
            raise SettingsError(
                f"{file} has a token {name}. Choose another name, or revoke that one first: "
                f"lakeledger token revoke {name} --file {file}"
            )
        return [*tokens, known]

    change_tokens(file, added)
    if out is None:
        print(token)
    else:
        try:
            write_token(out, token)
        except SettingsError:
            # Without its text the token is of no use, and its name would be taken.
            change_tokens(file, lambda every: [each for each in every if each != known])
            raise
    said = NEVER if ends_ms is None else time_text(ends_ms)
    say(f"{file} knows token {name}, which expires: {said}. Servers read the file by themselves")


@app.command("list")
def list_tokens(file: FileOption, output: OutputOption = Output.TABLE) -> None:
    """List the tokens that a file of a server knows."""
    rows = [
        {
            "name": token.name,
            "write": token.may_write,
            "expires": None if token.expires_ms is None else time_text(token.expires_ms),
            "expired": token.is_expired(now_ms()),
        }
        for token in read_tokens(file)
    ]
    answer_rows(rows, output)


@app.command()
def revoke(
    name: NameArgument,
    file: FileOption,
    output: FailureOption = Output.TABLE,  # noqa: ARG001 - `main` reports the failure
) -> None:
    """Take a token out of a file of a server; requests with it are refused from then on."""

    def left(tokens: Sequence[KnownToken]) -> Sequence[KnownToken]:
        found = [token for token in tokens if token.name != name]
        if len(found) == len(tokens):
            raise Stopped(f"{file} has no token {name}", ExitCode.NOT_FOUND)
        return found

    change_tokens(file, left)
    say(f"{file} no longer knows token {name}")


def write_token(file: Path, token: str) -> None:
    """Write a token into a file for its owner only; raises SettingsError."""
    try:
        write_private(file, f"{token}\n")
        file.chmod(0o600)
    except OSError as problem:
        raise SettingsError(f"the token cannot be written to {file}: {problem}") from problem


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000
