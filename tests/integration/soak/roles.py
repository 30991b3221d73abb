"""The processes of a soak, each started again when it ends, and all that they say kept.

What they say goes to one file each. Nothing that is killed and started again may say that it
failed.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Final, NamedTuple

from ledger.machine.supervisor import SupervisedRole, Supervisor, end
from tests.integration.commands import environment

END_S: Final = 60.0
SETTLED_S: Final = 1.0
STANDBY_EVERY: Final = 500
# A cache that holds a part of the tables only, so that it evicts and fills all the time.
FEW_BYTES: Final = 150_000
SMALL: Final = "cache-2"
CACHE_SETTINGS: Final = ("--set", "cache.sample_every_s=0.5", "--set")
FAILED: Final = frozenset({"error", "critical"})
FAULT: Final = "Traceback"


@dataclass(slots=True)
class Recorded(SupervisedRole):
    """A role whose stderr goes to the file `said`; `has_java` = a Java of its own writes there too.

    That one goes on for a moment when its Python was killed, and complains.
    """

    said: Path = Path()
    has_java: bool = False

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the process as any role."""
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(
                [*self.program, *self.arguments],
                stdin=subprocess.PIPE,
                stderr=said,
                env=environment,
                start_new_session=True,
            )
        self.started_s = time.monotonic()

    def failures(self) -> Iterator[str]:
        """Yield what it said that tells of a failure."""
        for line in self.said.read_text(encoding="utf-8", errors="replace").splitlines():
            if is_failure(line, has_java=self.has_java):
                yield f"{self.name}: {line}"


class Place(NamedTuple):
    """Where a soak lives: Kafka, the ledger, and a folder for all else."""

    bootstrap: str
    ledger: str
    folder: Path

    @property
    def followed(self) -> Path:
        """The rows of the follower."""
        return self.folder / "follower"

    @property
    def fed(self) -> Path:
        return self.folder / "feeder" / "rows"

    @property
    def options(self) -> tuple[str, ...]:
        return "--bootstrap", self.bootstrap, "--ledger", self.ledger


class Roles:
    """All processes of a soak, until `close`.

    Attributes:
        urls: where each cache answers, by its name.
    """

    def __init__(self, place: Place, *, with_spark: bool) -> None:
        names = ("cache-1", SMALL, "rows-1", "rows-2")
        self.urls = dict(zip(names, free_urls(len(names)), strict=True))
        self._place = place
        self._environment = environment(place.folder)
        fed = place.fed if with_spark else place.followed
        roles = [
            *(self._sequencer(number) for number in (1, 2)),
            self._served("follower", "--store", str(place.followed), "--no-http"),
            *([self._feeder()] if with_spark else []),
            self._cache("cache-1", "cache.max_wait_ms=10000"),
            self._cache(SMALL, f"cache.bytes_max={FEW_BYTES}"),
            self._rows("rows-1", place.followed),
            self._rows("rows-2", fed, "--bytes-max", str(FEW_BYTES)),
            *(self._writer(number) for number in (1, 2)),
        ]
        self._roles = {role.name: role for role in roles}
        self._supervisor = Supervisor(roles)
        self._stop = Signal()
        self._watch = Thread(target=self._supervisor.watch, args=(self._stop,), daemon=True)

    def start(self, *kinds: str) -> None:
        """Start the roles whose names begin so."""
        for role in self._roles.values():
            if role.name.startswith(kinds):
                role.start(self._environment)

    def watch(self) -> None:
        """Start again, from now on, whatever ends."""
        self._supervisor.environment = self._environment
        self._watch.start()

    def names(self) -> list[str]:
        return list(self._roles)

    def pid(self, name: str) -> int:
        """Return the process id of a role, 0 while it does not run."""
        return self._roles[name].pid

    def runs(self, name: str) -> bool:
        role = self._roles[name]
        return role.pid != 0 and time.monotonic() - role.started_s > SETTLED_S

    def kill(self, name: str) -> int:
        """Kill a role as `kill -9` does; return the process id it had."""
        process = self._roles[name].process
        assert process is not None, f"{name} does not run"
        process.kill()
        return process.pid

    def leave_alone(self) -> None:
        """Start nothing again from now on."""
        self._stop.set()
        self._watch.join()

    def end(self, *kinds: str) -> Mapping[str, int]:
        """Tell the roles whose names begin so to end; return the exit code of each."""
        ended: dict[str, int] = {}
        for role in reversed(self._roles.values()):
            if role.process is not None and role.name.startswith(kinds):
                process = role.process
                end(role, END_S)
                ended[role.name] = process.returncode
        return ended

    def close(self) -> None:
        self._stop.set()
        if self._watch.is_alive():
            self._watch.join()
        self._supervisor.stop()

    def failures(self) -> list[str]:
        return [line for role in self._roles.values() for line in role.failures()]

    def _sequencer(self, number: int) -> Recorded:
        name = f"sequencer-{number}"
        often = f"sequencer.checkpoint_positions={STANDBY_EVERY}"
        return self._served(name, "--name", name, "--set", often)

    def _feeder(self) -> Recorded:
        feeder = self._served("feeder", "--store", str(self._place.fed.parent))
        feeder.has_java = True
        return feeder

    def _cache(self, name: str, setting: str) -> Recorded:
        http = self.urls[name].removeprefix("http://")
        store = "--store", str(self._place.followed)
        return self._served(name, *store, "--http", http, *CACHE_SETTINGS, setting)

    def _rows(self, name: str, store: Path, *more: str) -> Recorded:
        http = self.urls[name].removeprefix("http://")
        return self._own(name, "row_cache", "--store", str(store), "--http", http, *more)

    def _writer(self, number: int) -> Recorded:
        name, store = f"writer-{number}", str(self._place.followed)
        return self._own(name, "writer", "--name", name, "--store", store, *self._place.options)

    def _served(self, name: str, *options: str) -> Recorded:
        kind = name.partition("-")[0]
        arguments = ("serve", kind, *options, *self._place.options, "--with-parent")
        return Recorded(name, arguments, said=self._place.folder / f"{name}.log")

    def _own(self, name: str, module: str, *options: str) -> Recorded:
        program = (sys.executable, "-m", f"tests.integration.soak.{module}")
        return Recorded(name, options, program, said=self._place.folder / f"{name}.log")


def free_urls(number: int) -> list[str]:
    """Return addresses on ports that were free just now: a cache comes back where it was."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return [f"http://127.0.0.1:{port}" for port in ports]


def is_failure(line: str, *, has_java: bool = False) -> bool:
    """Tell whether a line is the log line of a failure, or no log line at all."""
    try:
        return json.loads(line).get("level") in FAILED
    except (ValueError, AttributeError):
        return line.startswith(FAULT) or not (has_java or line.isspace())
