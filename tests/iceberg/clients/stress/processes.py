"""The processes of a stress run: those of the ledger, and its clients; each comes back when killed.

What they say goes to one file each.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Final, NamedTuple

from ledger.machine.supervisor import Supervisor
from tests.benchmarks.postgres import free_port
from tests.iceberg.clients import spark_client, spark_environment
from tests.iceberg.clients.stress.journal import STOP
from tests.integration.commands import environment
from tests.integration.soak.roles import Recorded

END_S: Final = 120.0
LOOK_S: Final = 0.1
CLIENTS: Final[dict[str, int]] = {"pyiceberg": 4, "duckdb": 2, "sdk": 2}
SPARK: Final = "spark-1"
CATALOG: Final = "iceberg"
SEQUENCERS: Final = ("sequencer-1", "sequencer-2")


class Site(NamedTuple):
    """Where a run lives: Kafka, the ledger, and a folder for all else."""

    bootstrap: str
    ledger: str
    folder: Path

    @property
    def store(self) -> Path:
        """The rows of the follower."""
        return self.folder / "rows"

    @property
    def journals(self) -> Path:
        """What the clients note."""
        return self.folder / "journals"

    @property
    def options(self) -> tuple[str, ...]:
        """The options of a command that name the ledger."""
        return "--bootstrap", self.bootstrap, "--ledger", self.ledger


class Processes:
    """All processes of a run, until `close`.

    Attributes:
        uri: where the catalog answers, also after it was started again.
        clients: the names of the clients.
    """

    def __init__(self, site: Site, seed: int, *, with_spark: bool) -> None:
        self._site, self._seed = site, seed
        self._http = f"127.0.0.1:{free_port()}"
        self.uri = f"http://{self._http}"
        names = [f"{kind}-{n + 1}" for kind, count in CLIENTS.items() for n in range(count)]
        self.clients = [*names, *([SPARK] if with_spark else [])]
        self._environment = {**environment(site.folder), **spark_client.OWN}
        site.journals.mkdir()
        roles = [
            *(self._served("sequencer", name, "--name", name) for name in SEQUENCERS),
            self._served("follower", "follower", "--store", str(site.store), "--no-http"),
            self._served("publisher", "publisher", "--no-http"),
            self._served("iceberg", CATALOG, *self._of_catalog()),
        ]
        self._roles = {each.name: each for each in roles}
        self._roles |= {name: self._client(name) for name in self.clients}
        self._supervisor = Supervisor(list(self._roles.values()), self._environment)
        self._stop = Signal()
        self._watch = Thread(target=self._supervisor.watch, args=(self._stop,), daemon=True)

    def start(self, names: Sequence[str]) -> None:
        """Start processes by their names."""
        for name in names:
            self._roles[name].start(self._environment)

    def watch(self) -> None:
        """Start again, from now on, whatever ends."""
        self._watch.start()

    def is_watched(self) -> bool:
        """Tell whether no process has ended for good."""
        return self._watch.is_alive()

    def runs(self, name: str) -> bool:
        """Tell whether a process is there now."""
        process = self._roles[name].process
        return process is not None and process.poll() is None

    def kill(self, name: str) -> bool:
        """Kill a process as `kill -9` does; return whether it ran."""
        process = self._roles[name].process
        is_there = self.runs(name)
        if is_there and process is not None:
            process.kill()
        return is_there

    def restarts(self, name: str) -> int:
        """Return how often a process was started again."""
        return self._roles[name].restarts

    def finish(self) -> list[str]:
        """Let the clients end their turns; return those that did not end well."""
        self._stop.set()
        self._watch.join()
        (self._site.journals / STOP).touch()
        found = []
        for name in self.clients:
            process = self._roles[name].process
            # A client that was just killed is not started again.
            if process is not None and process.wait(END_S) > 0:
                found.append(f"{name} ended with {process.returncode}")
        return found

    def close(self) -> None:
        """End all processes."""
        self._stop.set()
        if self._watch.is_alive():
            self._watch.join()
        self._supervisor.stop()

    def failures(self) -> Iterator[str]:
        """Yield what the roles of the ledger said that tells of a failure."""
        for name, role in self._roles.items():
            if name not in self.clients:
                yield from role.failures()

    def _of_catalog(self) -> Sequence[str]:
        warehouse = f"warehouse={self._site.folder / 'warehouse'}"
        return "--http", self._http, "--store", str(self._site.store), "--set", warehouse

    def _served(self, kind: str, name: str, *options: str) -> Recorded:
        arguments = ("serve", kind, *options, *self._site.options, "--with-parent")
        return Recorded(name, arguments, said=self._site.folder / f"{name}.log")

    def _client(self, name: str) -> Recorded:
        kind, said = name.partition("-")[0], self._site.folder / f"{name}.log"
        program = f"tests.iceberg.clients.stress.{kind}_worker"
        where = ("--uri", self.uri, "--journals", str(self._site.journals))
        told = ("--name", name, *where, "--seed", str(self._seed))
        if kind == "spark":
            options = (*told, str(spark_environment.jar()))
            return Recorded(name, options, spark_client.command(program), said=said, has_java=True)
        more = (*self._site.options[1::2], str(self._site.store)) if kind == "sdk" else ()
        return Recorded(name, (*told, *more), (sys.executable, "-m", program), said=said)
