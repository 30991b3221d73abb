"""The README tells the truth: its Python runs, its paths exist, its commands are known."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.machine.up import Running, UpSettings, running
from tests.command_line import invoked

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
PATHS = sorted(set(re.findall(r"`((?:ledger|projections|spark_sink|tests)/[\w./]*)`", README)))
COMMANDS = sorted(set(re.findall(r"`lakeledger ([a-z]+(?: [a-z]+)?)", README)))


@pytest.fixture
def up(tmp_path: Path, ledger_name: str) -> Iterator[Running]:
    """Run a whole ledger of this machine."""
    with running(UpSettings(ledger=ledger_name, home=tmp_path)) as up:
        yield up


@pytest.mark.kafka
def test_python_runs(up: Running, tmp_path: Path) -> None:
    """The Python of the README runs as it stands against a ledger that is up."""
    environment = {"LAKELEDGER_HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", PYTHON],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "main.db.flights:1:" in done.stdout
    assert up.roles()


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path: str) -> None:
    """Every file and folder that the README names is there."""
    assert (ROOT / path).exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_known(command: str) -> None:
    """Every command that the README names has help."""
    done = invoked(*command.split(), "--help")

    assert done.exit_code == 0, done.output
