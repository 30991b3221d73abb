"""The wheel in an empty environment: the README's quick start in Python works with it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT, all_blocks
from tests.integration.commands import Command, environment

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

INSTALL_S: Final = 900.0
QUICK_START: Final = "Quick start: Python"


def run(*command: str | Path, folder: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return what a command prints; it must end well."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of programs of an environment that holds the wheel, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, ROOT, folder=folder)
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    found = folder / "venv/bin"
    pinned = ("--constraint", ROOT / "constraints.txt")
    run(found / "python", "-m", "pip", "install", *pinned, f"{wheel}[arrow]", folder=folder)
    return found


@pytest.fixture
def home(programs: Path, tmp_path: Path) -> Iterator[Path]:
    """Return the home of a ledger that the installed program has brought up."""
    program = [str(programs / "lakeledger")]
    with Command(tmp_path, "up", program=program, PYTHONPATH="") as command:
        command.wait_for("Ctrl-C stops it all")
        yield tmp_path


def test_quick_start(programs: Path, home: Path, tmp_path: Path) -> None:
    """The quick start prints rows, and the command line answers about its tables."""
    (program,) = [
        block.text
        for block in all_blocks("python")
        if block.page == "README.md" and block.heading == QUICK_START
    ]
    environ = {**environment(home), "PYTHONPATH": ""}
    printed = run(programs / "python", "-c", program, folder=tmp_path, environ=environ)
    assert "16.5" in printed
    query = ("sql", "SELECT total FROM db.totals")
    assert "16.5" in run(programs / "lakeledger", *query, folder=tmp_path, environ=environ)
