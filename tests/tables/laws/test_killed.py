"""Work that is killed at any step: no committed row is lost or doubled, and no file is left over.

The process that writes gets SIGKILL. The records that it sent stay, and the files as they are.
"""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.tables.vacuum import Vacuum
from ledger.testing import FixedClock, InMemoryLedger
from tests.tables.laws.kept_log import KeptLog
from tests.tables.laws.killed_work import ALERT, TABLE, WORK
from tests.tables.row_files import tuples

POINTS: Final = 16
"""How many of the steps of each kind of work are its last one, in the slow test."""

LEASE_S: Final = 60
DAYS_MS: Final = 3 * 86_400_000
KINDS: Final = [each for each in WORK if each != "made"]


class Killer:
    """A process whose children do work and are killed; `base` is the table as it is before."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process = process
        self.folder = folder / "now"
        self._base = folder / "base"
        self.folder.mkdir()
        assert self.do("made") == 0
        shutil.copytree(self.folder, self._base)

    def do(self, name: str, last: int = 0) -> int:
        """Do work up to a step, and return how its process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name} {last} {self.folder}\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("answer "):
                return int(line.split()[1])
        raise AssertionError("the process ended")

    def begin(self) -> None:
        """Put everything back as it was before."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._base, self.folder)

    def steps(self, name: str) -> int:
        """Return how many steps work has that is not killed."""
        self.begin()
        assert self.do(name) == 0
        return int((self.folder / "steps").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killer]:
    command = [sys.executable, "-m", "tests.tables.laws.killed_work"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Killer(process, tmp_path_factory.mktemp("killed"))
        assert process.stdin is not None
        process.stdin.close()


def rows(ledger: Ledger) -> Counter[Any]:
    """Return the rows of the table; each live file is read."""
    return Counter(tuples(ledger.scan(TABLE).to_arrow()))


def files(folder: Path) -> set[str]:
    root = folder / "table"
    return {each.relative_to(root).as_posix() for each in root.rglob("*.parquet")}


def named(ledger: Ledger) -> set[str]:
    """Return the live files; rows in the log are in none."""
    return {file.path for file in ledger.read(TABLE) if not file.rows}


class After:
    """The table after its writer was killed, as a later sequencer and another client see it."""

    def __init__(self, killer: Killer) -> None:
        self.folder = killer.folder
        self.clock = FixedClock(time.time_ns() // 1_000_000 + DAYS_MS)

    def check(self, name: str, outcomes: list[Counter[Any]]) -> int:
        """Assert what must hold, and return which of the outcomes there is."""
        log = KeptLog(self.folder / "log")
        with InMemoryLedger(log=log, clock=self.clock, settings=ALERT) as memory:
            memory.advance(LEASE_S)  # Now it leads, and sessions have a lease from here on.
            memory.advance(LEASE_S)
            ledger = memory.connect()
            found = rows(ledger)
            assert found in outcomes, f"{found} after {name}"
            for version in range(ledger.table(TABLE).version + 1):
                if name != "vacuumed":
                    ledger.scan(TABLE, version=version).to_arrow()
            self.vacuum(ledger)
            assert rows(ledger) == found
            assert files(self.folder) == named(ledger)
            WORK[name](ledger, self.folder)
            self.vacuum(ledger)
            assert files(self.folder) == named(ledger)
            return outcomes.index(found)

    def vacuum(self, ledger: Ledger) -> None:
        """Delete what no reader needs, once all files are old."""
        for file in files(self.folder):
            os.utime(self.folder / "table" / file, (0, 0))
        Vacuum(ledger.reads(), ledger.table(TABLE), 0.0, 2 * self.clock.now_ms()).run()


def outcomes_of(killer: Killer, name: str) -> tuple[int, list[Counter[Any]]]:
    """Return the steps of work, and the rows before and after it."""
    steps = killer.steps(name)
    found = []
    for begin in (killer.begin, lambda: killer.steps(name)):
        begin()
        with InMemoryLedger(log=KeptLog(killer.folder / "log"), settings=ALERT) as memory:
            found.append(rows(memory.connect()))
    return steps, found


def kill(killer: Killer, name: str, points: int, shift: int) -> Counter[int]:
    """Kill work at some of its steps, and return how often each outcome was there."""
    steps, outcomes = outcomes_of(killer, name)
    seen: Counter[int] = Counter()
    for at in range(points):
        last = 1 + (at * steps + shift) // points
        killer.begin()
        assert killer.do(name, last) == -9
        seen[After(killer).check(name, outcomes)] += 1
    return seen


@pytest.mark.integration
@pytest.mark.parametrize("name", KINDS)
def test_killed(killer: Killer, name: str) -> None:
    """Killed early or late, work is done whole or not at all, and vacuum finds what is left."""
    kill(killer, name, 2, len(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_killed_at_many_steps(killer: Killer, name: str) -> None:
    """The same at steps from the first to the last."""
    seen = kill(killer, name, POINTS, 0)
    assert sum(seen.values()) == POINTS
