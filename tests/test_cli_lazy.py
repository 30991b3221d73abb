"""Commands that are loaded when they are run: help knows all, and a start loads none."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ledger.cli.lazy import Later
from ledger.cli.root import whole_app
from ledger.errors import SettingsError
from projections.cli import tables

# What takes most of the time in which a command starts.
HEAVY = ("structlog", "pydantic", "fastavro", "confluent_kafka", "rocksdict", "rich", "msgspec")
START = """
import sys
from ledger.cli.root import whole_app
whole_app()
print(*sorted(set(sys.argv[1:]) & set(sys.modules)))
"""


def later_ones(group: Any) -> Iterator[Later]:
    """Yield the commands of a group, and of groups in it, that are loaded when they are run."""
    for each in group.commands.values():
        if isinstance(each, Later):
            yield each
        elif hasattr(each, "commands"):
            yield from later_ones(each)


ALL = [
    *later_ones(typer.main.get_command(whole_app())),
    *later_ones(typer.main.get_group(tables.app)),
]


@pytest.mark.parametrize("command", ALL, ids=lambda each: str(each.name))
def test_help_of_what_is_not_loaded(command: Later) -> None:
    """What a command is for is told before it is loaded as it is told by the command itself."""
    found = command.load()
    first, *_ = (found.help or "").splitlines()

    assert (found.name, first) == (command.name, command.help)
    assert not found.hidden


@pytest.mark.parametrize(
    ("missing", "error"), [("pyarrow", SettingsError), ("nothing", ModuleNotFoundError)]
)
def test_an_extra_that_is_missing(tmp_path: Path, missing: str, error: type[Exception]) -> None:
    """A command that needs a library of an extra says how to install it."""
    module = f"needs_{missing}"
    text = f"raise ModuleNotFoundError('No module', name={missing!r})\n"
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(error) as raised:
            Later("sql", f"{module}:command", "Answer.").load()
    finally:
        sys.path.remove(str(tmp_path))
    assert ("lakeledger[arrow]" in str(raised.value)) is (error is SettingsError)


def test_nothing_is_loaded_at_the_start() -> None:
    """A start loads neither the client of Kafka nor the store, nor what logs and checks."""
    done = subprocess.run(
        [sys.executable, "-c", START, *HEAVY], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"
