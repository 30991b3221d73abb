"""Values without a validator: each command line has the outcome that it has with Typer's own."""

from enum import StrEnum
from typing import Annotated, Any

import pytest
import typer

from ledger.cli.plain_values import ATTRIBUTE, PlainValue, load_no_validators


class Colour(StrEnum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


def made() -> Any:
    """Return a command with parameters of each kind, which prints what it gets."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def show(
        name: str,
        more: Annotated[list[str] | None, typer.Argument()] = None,
        *,
        text: str | None = None,
        number: Annotated[int, typer.Option(min=1)] = 2,
        share: float = 0.5,
        colour: Colour = Colour.RED,
        other: Colour | None = None,
        given: Annotated[list[int] | None, typer.Option()] = None,
        wanted: bool = False,
        deep: Annotated[bool | None, typer.Option("--deep/--flat")] = None,
    ) -> None:
        typer.echo((name, more, text, number, share, colour, other, given, wanted, deep))

    return typer.main.get_command(app)


@pytest.mark.parametrize(
    "line",
    [
        "a",
        "a b c",
        "a --text é --number 7 --share 2 --colour blue --other red --wanted --deep",
        "a --given 1 --given 2 --flat",
        "--help",
        "",
        "a --number 0",
        "a --number x",
        "a --share x",
        "a --colour green",
        "a --colour RED",
        "a --other green",
        "a --given x",
        "a --nothing",
    ],
)
def test_same_outcome(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Output, error and exit code do not depend on what checks the values."""
    plain, typers = made(), made()
    load_no_validators(plain)
    assert outcome(plain, line, capsys) == outcome(typers, line, capsys)


def outcome(command: Any, line: str, capsys: pytest.CaptureFixture[str]) -> Any:
    with pytest.raises(SystemExit) as ended:
        command.main(line.split(), prog_name="show")
    return ended.value.code, *capsys.readouterr()


def test_no_validator_is_built() -> None:
    command = made()
    load_no_validators(command)
    with pytest.raises(SystemExit):
        command.main(["a", "--colour", "blue", "--number", "7"])
    built = {
        param.name
        for param in command.params
        if not isinstance(getattr(param, ATTRIBUTE), PlainValue)
    }
    assert built == {"number", "more", "given"}
