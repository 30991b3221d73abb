"""Commands that pages name are known, and so are their options, targets and extras."""

import re
import shlex
import tomllib
from collections.abc import Sequence
from typing import Any, Final

import pytest
import typer
from typer.core import TyperGroup

from ledger.cli.root import app
from ledger.machine.exit_codes import ExitCode
from tests.command_line import invoked
from tests.docs.pages import ROOT, Block, all_blocks, page, pages, spans

PROGRAM: Final = "lakeledger"
SHELL: Final = "".join(each.text for each in all_blocks("sh"))
IN_LINES: Final = spans(pages())
COMMANDS: Final = sorted(set(re.findall(r"`lakeledger ([a-z]+(?: [a-z]+)?)", IN_LINES)))
LINES: Final = sorted(
    {line.strip() for line in SHELL.replace("\\\n", " ").splitlines() if f"{PROGRAM} " in line}
)
MENTIONS: Final = sorted(
    {span for span in re.findall(r"`(lakeledger [^`]+)`", IN_LINES) if "..." not in span}
)
ANSWERS: Final = [each for each in all_blocks("text") if each.text.startswith("$ ")]
OK: Final = "Missing nothing"
LEFT_OUT: Final = ("Missing", "Option")
TARGETS: Final = sorted(set(re.findall(r"\bmake ([a-z]+)", SHELL + IN_LINES)))
EXTRAS: Final = sorted(set(re.findall(r"lakeledger\[([a-z0-9,]+)\]", SHELL + IN_LINES)))


def arguments_of(line: str) -> Sequence[str]:
    """Return the arguments of a command line, without variables before it and remarks behind."""
    words = shlex.split(line, comments=True)
    return words[words.index(PROGRAM) + 1 :] if PROGRAM in words else ()


def parse(arguments: Sequence[str]) -> None:
    """Read a command's options and arguments as it does itself, and run nothing.

    Raises the parser's own error for an option, argument or value that the command does not take.
    """
    command: Any = typer.main.get_command(app)
    context, rest = typer.Context(command), list(arguments)
    while isinstance(command, TyperGroup) and rest:
        name, command, rest = command.resolve_command(context, rest)
        context = typer.Context(command, parent=context, info_name=name)
    if not isinstance(command, TyperGroup):
        command.make_context(context.info_name, rest)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_a_page_names_has_help(command: str) -> None:
    done = invoked(*command.split(), "--help")

    assert done.exit_code == 0, done.output


def refusal(line: str) -> str:
    """Return why a command line is refused, OK if it is not."""
    try:
        parse(arguments_of(line))
    except typer.TyperException as error:
        return error.format_message()
    except typer.Exit as ended:  # An option such as --help ends the command itself.
        return OK if ended.exit_code == 0 else f"exit code {ended.exit_code}"
    return OK


def filled(mention: str) -> str:
    """Return a command with something in the place of each placeholder."""
    named = re.sub(r"(?<= )(PATH\b|(?:/\w+)+)", str(ROOT), mention)
    return re.sub(r"(?<=[ =:])[A-Z]+\b", "7", named)


@pytest.mark.parametrize("line", LINES)
def test_lines_can_be_run(line: str) -> None:
    parse(arguments_of(line))


@pytest.mark.parametrize("mention", MENTIONS)
def test_every_command_within_a_sentence_has_options_that_its_command_takes(mention: str) -> None:
    assert refusal(filled(mention)).startswith(LEFT_OUT)


@pytest.mark.parametrize(
    "line", ["lakeledger status --colour", "lakeledger stat", "lakeledger status x"]
)
def test_unknown_options_are_seen(line: str) -> None:
    assert not refusal(line).startswith(LEFT_OUT)


@pytest.mark.parametrize("block", ANSWERS, ids=str)
def test_what_a_page_shows_as_the_answer_of_a_command_is_in_it(block: Block) -> None:
    asked, *shown = block.text.splitlines()
    done = invoked(*arguments_of(asked.removeprefix("$ ")))

    assert done.exit_code == 0, done.output
    assert set(shown) <= set(done.stdout.splitlines())


def test_the_page_of_the_command_line_lists_every_exit_code_and_no_other() -> None:
    listed = re.findall(r"^\| (\d+) \|", page("docs/command-line.md").text, re.MULTILINE)
    assert [int(code) for code in listed] == sorted(ExitCode)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_of_make_that_a_page_names_is_one(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)", makefile, re.MULTILINE)

    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert phony is not None
    assert target in phony[1].split()


@pytest.mark.parametrize("extras", EXTRAS)
def test_every_extra_that_a_page_installs_is_one_of_the_package(extras: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
