"""A fleet: sequencer processes under the product's own supervisor, and ways to strike them."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from threading import Event as Signal
from threading import Thread
from types import TracebackType
from typing import Final, Self

from ledger.machine.process import ExitCode
from ledger.machine.supervisor import SupervisedRole, Supervisor

EXIT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Paused:
    """A sequencer stopped between two instructions; it does not know what happens meanwhile."""

    process: subprocess.Popen[bytes]

    def resume(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def wait_for_end(self) -> ExitCode:
        """Return what it ended with; raises TimeoutExpired if it does not end."""
        return ExitCode(self.process.wait(EXIT_S))


class Fleet:
    """Sequencers of one ledger, restarted when they end; a `with` block ends them all."""

    def __init__(self, bootstrap: str, ledger: str, size: int, *, lease_s: float = 10.0) -> None:
        where = ("--bootstrap", bootstrap, "--ledger", ledger, "--lease-s", str(lease_s))
        names = [f"sequencer-{number + 1}" for number in range(size)]
        self._roles = {
            name: SupervisedRole(
                name, ("serve", "sequencer", "--name", name, *where, "--with-parent")
            )
            for name in names
        }
        self._supervisor = Supervisor(list(self._roles.values()))
        self._stop = Signal()
        self._watch = Thread(target=self._supervisor.watch, args=(self._stop,), daemon=True)

    @property
    def restarts(self) -> int:
        """Return how often a sequencer was started again."""
        return sum(role.restarts for role in self._roles.values())

    def youngest_s(self) -> float:
        """Return for how long the youngest process has run, 0 while one is missing."""
        now_s = time.monotonic()
        return min(
            now_s - role.started_s if role.process is not None else 0.0
            for role in self._roles.values()
        )

    def kill(self, sequencer: str) -> None:
        """End a sequencer as a crash would; it is named as in the log, `name/pid`."""
        self._process(sequencer).kill()

    def pause(self, sequencer: str) -> Paused:
        """Stop a sequencer, wherever it is, until it is resumed."""
        process = self._process(sequencer)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        return Paused(process)

    def close(self) -> None:
        """End all of them in good order."""
        self._stop.set()
        self._watch.join()
        self._supervisor.stop()

    def _process(self, sequencer: str) -> subprocess.Popen[bytes]:
        name, _, pid = sequencer.partition("/")
        process = self._roles[name].process
        assert process is not None, f"{name} is not running"
        assert process.pid == int(pid), f"{name} has become process {process.pid}"
        return process

    def __enter__(self) -> Self:
        self._supervisor.start()
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
