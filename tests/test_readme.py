"""The README tells the truth: its Python runs, its paths exist, its commands are known.

So do the pages beside it, as far as they name what there is.
"""

import pkgutil
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
PAGES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md")))
PYTHON = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
PACKAGES = "ledger|projections|spark_sink|tests"
PATHS = sorted(set(re.findall(rf"`((?:{PACKAGES})/[\w./]*)`", README + PAGES)))
# Two parts may be a method of a client that is called `ledger`.
NAMES = sorted(set(re.findall(rf"\b((?:{PACKAGES})(?:\.\w+){{2,}})", README + PAGES)))
COMMANDS = sorted(set(re.findall(r"`lakeledger ([a-z]+(?: [a-z]+)?)", README + PAGES)))


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
    """Every file and folder that the README and the pages name is there."""
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_names_exist(name: str) -> None:
    """Every module and every name in one that the README and the pages name is there."""
    assert pkgutil.resolve_name(name)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_known(command: str) -> None:
    """Every command that the README and the pages name has help."""
    done = invoked(*command.split(), "--help")

    assert done.exit_code == 0, done.output
