"""The fleet: the producers of the demo as child processes: started, killed, waited for."""

import subprocess
import sys
from collections.abc import Iterable
from typing import Final, Self

from tests.demo.acts.producer import Job
from tests.demo.report import CheckFailedError

STOP_S: Final = 5.0


class Fleet:
    """Producers that wait for a job, or do it; at the end of a `with` block all have ended."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def give(self, job: Job) -> None:
        """Give the producer of that name its job, which it begins at once."""
        pipe = self._processes[job.name].stdin
        assert pipe is not None, "standard input is a pipe"
        pipe.write(job.line())
        pipe.flush()

    def kill(self, name: str) -> int:
        """Kill a producer as kill -9 does, and return its process id."""
        process = self._processes.pop(name)
        process.kill()
        end(process)
        return process.pid

    def check(self) -> None:
        """Raise CheckFailedError if a producer failed."""
        for name, process in self._processes.items():
            if process.poll():
                raise CheckFailedError(f"{name} ended with exit code {process.returncode}")

    @property
    def is_done(self) -> bool:
        """Return whether every producer has done its job; raises as `check`."""
        self.check()
        return all(process.poll() == 0 for process in self._processes.values())

    def __enter__(self) -> Self:
        for name in self._names:
            self._processes[name] = started("tests.demo.acts.producer")
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
            end(process)


def started(module: str, *, stdout: int | None = None) -> subprocess.Popen[bytes]:
    """Start a process that reads its job, in a session of its own: Ctrl-C is for the demo only."""
    return subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=stdout, start_new_session=True
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that ends, and close its pipes."""
    process.wait(STOP_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
