"""The command line as its users run it: in processes of its own, with a home folder of its own."""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Final, Self

import psutil

PROGRAM: Final = (sys.executable, "-m", "ledger")
# What would lead a command to another ledger than those of its home.
ELSEWHERE: Final = {"LAKELEDGER_BOOTSTRAP", "LAKELEDGER_LEDGER", "LAKELEDGER_STORE"}
END_S: Final = 90.0

Done = subprocess.CompletedProcess[str]


def environment(home: Path) -> Mapping[str, str]:
    """Return an environment in which only the ledgers of one home are found."""
    kept = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return {**kept, "LAKELEDGER_HOME": str(home), "COLUMNS": "200"}


def lakeledger(home: Path, *arguments: str) -> Done:
    """Run a command to its end."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=END_S,
        check=False,
    )


def answer_of(home: Path, *arguments: str) -> Any:
    """Return what a command answers to a program; it must end well."""
    done = lakeledger(home, *arguments, "--output", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Command:
    """A command that keeps running; what it says to stderr is read as it comes.

    In a `with` block it is killed at the end, should it still run.
    """

    def __init__(
        self, home: Path, *arguments: str, program: Sequence[str] = PROGRAM, **environ: str
    ) -> None:
        self.process = subprocess.Popen(
            [*program, *arguments],
            env={**environment(home), **environ},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, text: str) -> str:
        """Return the next line that contains a text; raises AssertionError if none comes."""
        while line := self._lines.get(timeout=END_S):
            self.said.append(line)
            if text in line:
                return line
        raise AssertionError(f"'{text}' was not said, but: {''.join(self.said)}")

    def children(self) -> list[Any]:
        """Return every process that it started, and those that they started, of psutil."""
        return list(psutil.Process(self.process.pid).children(recursive=True))

    def end(self, number: signal.Signals) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(END_S)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)
        self._lines.put("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(END_S)
        assert self.process.stderr is not None
        self.process.stderr.close()


@contextmanager
def up(home: Path, *options: str, **environ: str) -> Iterator[Command]:
    """Run a `lakeledger up` that is up."""
    with starting(home, *options, **environ) as command:
        command.wait_for("Ctrl-C stops it all")
        yield command


def starting(home: Path, *options: str, **environ: str) -> Command:
    """Return a `lakeledger up` at its start, on a port that no other one of a test has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return Command(home, "up", "--port", str(port), *options, **environ)
