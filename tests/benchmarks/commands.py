"""T11: what a command costs, in processor time over that of a Python that does nothing."""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from ledger.machine.kafka.broker import Broker
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from tests.benchmarks.figure import Figure

ROUNDS: Final = 15
NAME: Final = "commands"
NOTHING: Final = ("-c", "pass")


def measure(broker: Broker) -> list[Figure]:
    """Return the processor time of `--help` and of `status`, each over that of Python alone."""
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(ledger=NAME, home=Path(home), bootstrap=broker.bootstrap)
        with running(settings):
            environ = {**os.environ, "LAKELEDGER_HOME": home}
            return [
                figure("T11-help", environ, "-m", "ledger", "--help"),
                figure("T11-status", environ, "-m", "ledger", "status"),
            ]


def figure(name: str, environ: dict[str, str], *arguments: str) -> Figure:
    """Return the median of rounds that run both, one after the other."""
    cpu_s(environ, *arguments)  # The first run writes what Python compiles.
    over = [cpu_s(environ, *arguments) - cpu_s(environ, *NOTHING) for _ in range(ROUNDS)]
    note = f"CPU over python -c pass, {min(over):.2f} to {max(over):.2f}"
    return Figure(name, round(median(over), 3), "s", note=note)


def cpu_s(environ: dict[str, str], *arguments: str) -> float:
    """Return the processor time of a Python that must end well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    subprocess.run(command, env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
