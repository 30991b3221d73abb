"""Peers: other systems that are measured beside the ledger, in an environment of their own.

Their packages are installed on first use, in exact versions, into one virtual environment in the
cache folder; nothing of the project imports them. A peer runs as a program of `peers` in that
environment: it is given a job, says when its sessions begin, and tells at the end what they did.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, Final, NamedTuple, TextIO

from ledger.machine.kafka.java import cache_folder
from tests.benchmarks.figure import SkippedError
from tests.benchmarks.worked import Worked, tree_cpu_s

ROOT: Final = Path(__file__).parents[2]
INSTALL_S: Final = 300.0
LIMIT_S: Final = 180.0
SAID_MAX: Final = 300


class Peer(NamedTuple):
    """A peer: its name, and the packages it takes."""

    name: str
    packages: tuple[str, ...]

    def prepare(self, terminal: TextIO) -> None:
        """Install what is not there yet, saying so; raises SkippedError with the reason."""
        marker = self._marker()
        if marker.exists():
            return
        print(f"installing {', '.join(self.packages)} ...", file=terminal, flush=True)
        if not python().exists():
            run_or_skip(self.name, [sys.executable, "-m", "venv", str(environment())])
        pip = [str(python()), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        run_or_skip(self.name, [*pip, *self.packages])
        marker.touch()

    def _marker(self) -> Path:
        packages = "\n".join(self.packages).encode()
        return environment() / f"has-{hashlib.blake2b(packages, digest_size=8).hexdigest()}"


DELTA: Final = Peer("deltalake", ("deltalake==1.6.3", "pyarrow==26.0.1"))
SQL: Final = Peer("psycopg", ("psycopg[binary]==3.3.9",))
DUCKLAKE: Final = Peer(
    "DuckLake",
    (
        *SQL.packages,
        *DELTA.packages[1:],
        "duckdb==1.5.5",
        # The extensions as wheels: nothing is downloaded while it runs.
        "duckdb-extension-ducklake==1.5.5",
        "duckdb-extension-postgres-scanner==1.5.5",
    ),
)
PYICEBERG: Final = Peer("pyiceberg", ("pyiceberg[sql-postgres]==0.12.0", *DELTA.packages[1:]))


def environment() -> Path:
    """Return the folder of the peers' virtual environment."""
    return cache_folder() / f"peers-{sys.version_info.major}.{sys.version_info.minor}"


def python() -> Path:
    """Return the peers' Python."""
    return environment() / "bin/python"


def run_or_skip(name: str, command: list[str]) -> None:
    """Run a command; raises SkippedError with the end of what it said if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SkippedError(f"{name} cannot be installed: {error}") from error
    if done.returncode != 0:
        said = " ".join((done.stdout + done.stderr).split())[-SAID_MAX:]
        raise SkippedError(f"{name} cannot be installed: {said}")


@contextmanager
def running(
    program: str, job: Mapping[str, Any], *, is_ours: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Run a program of `peers`; it is killed if it is not done in time, or not wanted any more.

    One of ours lies beside `peers` and runs where this process does. The job says in `limit_s` how
    long it may take, if that is not `LIMIT_S`.
    """
    command = [sys.executable, "-m", f"tests.benchmarks.{program}"]
    if not is_ours:
        command = [str(python()), "-m", f"tests.benchmarks.peers.{program}"]
    process = subprocess.Popen(
        [*command, json.dumps(job)],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Its sessions are processes too, and end with it.
    )
    timer = Timer(job.get("limit_s", LIMIT_S), os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        # Not reaped before, so the number is still its own.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def told(process: subprocess.Popen[str]) -> Any:
    """Return the next line that a program tells; raises RuntimeError if there is none."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError("a peer ended, or took too long; what it said stands above")
    return json.loads(line)


def answer(program: str, job: Mapping[str, Any]) -> Any:
    """Return the one line that a program of a peer tells."""
    with running(program, job) as process:
        return told(process)


def work(program: str, job: Mapping[str, Any], *, is_ours: bool = False) -> Worked:
    """Let the sessions of a peer work and return what they did; `job` has `seconds`."""
    with running(program, job, is_ours=is_ours) as process:
        assert told(process) == "begun"
        before_s = tree_cpu_s()
        done = told(process)
        cpu_s = tree_cpu_s() - before_s
    return Worked(done["took_ms"], done["failed"], job["seconds"], cpu_s, done["errors"])
