"""Failures of commands: the sentence or JSON object on stderr, and the exit code.

This module reports every error of the command line: of the parser, a command, or the ledger. With
`--output json` it is one JSON object in a line: name, message, hint and exit code.
"""

import json
import re
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import typer

from ledger.errors import LedgerError
from ledger.log_lines import is_debugged
from ledger.machine.exit_codes import ExitCode, exit_code

# Messages say what happened, then what to do: in further sentences, or after a semicolon.
_SENTENCE: Final = re.compile(r"(?<=[^.][.?!]) (?=[A-Z`])")
_HELP: Final = "see `lakeledger --help`, or --help after the command for its options"
_HINTS: Final = {
    ExitCode.USAGE: _HELP,
    ExitCode.UNHEALTHY: "see what `lakeledger up`, or the roles of the ledger, say on stderr",
}
_HINT: Final = "see `lakeledger status` for the state of the ledger; --debug shows the traceback"


class Stopped(typer.TyperException):
    """Ends a command with a sentence and an exit code: the answer is no, or is missing."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.exit_code = code

    @property
    def name(self) -> str:
        """Return the name of the failure for programs."""
        words = ExitCode(self.exit_code).name.split("_")
        return f"{''.join(map(str.title, words))}Error"


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether arguments request JSON, even if no command accepts them."""
    before = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    apart = any(
        (option, value) in {("--output", "json"), ("-o", "json")}
        for option, value in pairwise(before)
    )
    return apart or not {"--output=json", "-ojson", "-o=json"}.isdisjoint(before)


def code_of(error: Exception) -> ExitCode:
    """Return the exit code for an error, `FAILED` for one that is not of the ledger."""
    if isinstance(error, typer.TyperException):
        return ExitCode(error.exit_code)
    return exit_code(error) if isinstance(error, LedgerError) else ExitCode.FAILED


def tell(error: Exception, *, as_json: bool) -> ExitCode:
    """Write an error to stderr, with `--debug` also its traceback; return the exit code."""
    code = code_of(error)
    trace = "".join(traceback.format_exception(error)) if is_debugged() else ""
    if as_json:
        fields = fields_of(error)
        print(json.dumps({**fields, "traceback": trace} if trace else fields), file=sys.stderr)
    elif trace and not isinstance(error, typer.TyperException):
        sys.stderr.write(trace)
    elif isinstance(error, Stopped):
        print(error, file=sys.stderr)
    elif isinstance(error, typer.TyperException):
        print(usage_told(error), file=sys.stderr)
    else:
        typer.secho(f"{name_of(error)}: ", fg="red", bold=True, nl=False, err=True)
        typer.echo(str(error), err=True)
    return code


def usage_told(error: typer.TyperException) -> str:
    """Return the parser's refusal with the usage of the command."""
    where = getattr(error, "ctx", None)
    usage = f"{where.get_usage()}\n" if where is not None else ""
    hint = f"Try '{where.command_path} --help' for help.\n\n" if where is not None else ""
    return f"{usage}{hint}Error: {error.format_message()}" if error.format_message() else ""


def fields_of(error: Exception) -> dict[str, Any]:
    """Return an error as fields, for programs."""
    code = code_of(error)
    return {
        "name": name_of(error),
        "message": message_of(error),
        "hint": hint_of(error, code),
        "exit_code": int(code),
    }


def name_of(error: Exception) -> str:
    """Return the class name of an error, or the one that the command gave it."""
    return error.name if isinstance(error, Stopped) else type(error).__name__


def message_of(error: Exception) -> str:
    """Return the message of an error, for a wrong option with the option."""
    return error.format_message() if isinstance(error, typer.TyperException) else str(error)


def hint_of(error: Exception, code: ExitCode) -> str:
    """Return what to do: the remedy of a conflict, else the end of the message."""
    evidence = getattr(error, "evidence", None)
    if evidence is not None:
        return str(evidence.remedy)
    where = getattr(error, "ctx", None)
    if where is not None:
        return f"see `{where.command_path} --help`"
    message = message_of(error)
    _, *further = _SENTENCE.split(message, maxsplit=1)
    _, _, last = message.rpartition("; ")
    return further[0] if further else last if last != message else _HINTS.get(code, _HINT)
