"""Commands over the settings of this machine's processes."""

from typing import Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows
from ledger.cli.options import SetOption
from ledger.config.config import load

config = typer.Typer(no_args_is_help=True)


@config.command("show")
def config_show(
    *,
    settings: SetOption = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show where each value comes from.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the settings as a role would take them here and now."""
    loaded = load(overrides=settings or ())
    values = {name: as_json(value) for name, value in loaded.values().items()}
    if not origin:
        answer(values, output)
        return
    rows = [
        {"setting": name, "value": value, "origin": loaded.origins[name]}
        for name, value in values.items()
    ]
    answer_rows(rows, output)


def as_json(value: Any) -> Any:
    """Return a value as JSON has it."""
    return value if isinstance(value, str | int | float | None) else str(value)
