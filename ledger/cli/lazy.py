"""Commands that are loaded when they run: loading all of them would take most of a start.

A group knows their names and purposes, so help and completion load no command.
"""

from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from ledger.cli.loading import ended_at_once
from ledger.cli.plain_values import load_no_validators
from ledger.errors import SettingsError

EXTRAS: Final = {"pyarrow": "arrow", "duckdb": "arrow"}
"""The extra of each library that some commands need."""

_LATER: Final[dict[str, dict[str, "Later"]]] = {}
"""The commands of each group, by the name of the group and their own."""


class Later(TyperCommand):
    """A command or group, defined at `module:attribute`."""

    def __init__(self, name: str, target: str, what: str) -> None:
        super().__init__(name, help=what)
        self._target = target

    def load(self) -> Any:
        """Return the command itself; Ctrl-C while its modules load ends the process."""
        module, _, attribute = self._target.partition(":")
        try:
            with ended_at_once():
                found = getattr(import_module(module), attribute)
        except ModuleNotFoundError as missing:
            if missing.name not in EXTRAS:
                raise
            raise SettingsError(
                f"{self.name} needs {missing.name}, which is not installed: "
                f"pip install 'lakeledger[{EXTRAS[missing.name]}]'"
            ) from missing
        if isinstance(found, typer.Typer):
            command: Any = typer.main.get_group(found)
            command.help = self.help
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(self.name)(found)
            command = typer.main.get_command(alone)
        command.name = self.name
        load_no_validators(command)
        return command


def later(group: typer.Typer, name: str, target: str, what: str) -> None:
    """Add a function or a Typer app, defined at `module:attribute`, to a named group."""
    _LATER.setdefault(str(group.info.name), {})[name] = Later(name, target, what)


class LazyGroup(TyperGroup):
    """A group with commands that were added by `later`."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {**self.commands, **_LATER.get(str(self.name), {})}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command by its name, loaded."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Later) else command, rest
