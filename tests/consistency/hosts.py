"""Hosts: what a subject runs on, and which of its processes a fault may strike.

A host is a context: it yields what the jobs of clients need, and the processes by their roles.
"""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Signal
from typing import Any, Final, Protocol

import psutil

from tests.benchmarks.postgres import USER, postgres, prepare, programs
from tests.consistency.client import now
from tests.consistency.log_place import last_position
from tests.integration.commands import Command, answer_of
from tests.integration.power.segments import cut_topic, forget_good_order, places

LEDGER: Final = "lake"
ADDRESS: Final = "address.json"
# Reads without a position that ended so shortly before a cut may have seen what it lost.
DOUBTFUL_S: Final = 15.0
MARGIN: Final = 500
ROLES: Final = ("sequencer", "follower", "publisher", "iceberg", "broker")
# Some tables have a Delta log, and some have none.
PUBLISHED: Final = ("lists_a", "keyed", "stock", "bank")


class Host(Protocol):
    """What a subject runs on.

    Attributes:
        facts: what a run notes of it beside its history.
        roles: the roles that a fault may strike.
        environ: what its clients need in their environment.
    """

    facts: dict[str, Any]
    environ: Mapping[str, str]
    roles: Sequence[str]

    def job(self) -> Mapping[str, Any]:
        """Return what the jobs of clients need."""

    def processes(self, role: str) -> Sequence[psutil.Process]:
        """Return the processes of a role that run now."""

    def look(self) -> None:
        """Bring back what does not come back by itself."""

    def lose_end(self, lost: int) -> None:
        """Let the log lose so many batches of its end, and recover it."""


class Nothing:
    """The host of a library that needs no server."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.facts: dict[str, Any] = {"flush": "default"}
        self.roles: Sequence[str] = ()
        self.environ: Mapping[str, str] = {}
        self._job = {"lake": str(folder / "lake"), **more}

    def job(self) -> Mapping[str, Any]:
        return self._job

    def processes(self, role: str) -> Sequence[psutil.Process]:
        del role
        return ()

    def look(self) -> None:
        """Nothing runs."""

    def lose_end(self, lost: int) -> None:
        """There is no log."""


class LedgerHost:
    """A whole ledger by `lakeledger up`, with embedded Kafka; if it ends, it is started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        flush = "no" if "--no-flush" in options else "yes"
        self.facts: dict[str, Any] = {"cuts": [], "flush": flush}
        self.roles: Sequence[str] = [
            role for role in ROLES if role != "iceberg" or "--iceberg" in options
        ]
        self._home, self._lake, self._options = folder / "home", folder / "warehouse", options
        self._port = free_port()
        self.environ: Mapping[str, str] = {
            "LAKELEDGER_HOME": str(self._home),
            "LAKELEDGER_WAREHOUSE": str(self._lake),
        }
        self._up = self._start()

    def job(self) -> Mapping[str, Any]:
        address = json.loads(next(self._home.rglob(ADDRESS)).read_text(encoding="utf-8"))
        return {
            "bootstrap": f"127.0.0.1:{self._port}",
            "ledger": LEDGER,
            "lake": str(self._lake),
            "published": PUBLISHED,
            "reads_url": address["reads_url"],
            "publisher_url": address["publisher_url"],
            "iceberg": address["iceberg_url"],
        }

    def _start(self, *more: str) -> Command:
        port = ("--port", str(self._port))
        options = ("--ledger", LEDGER, *port, *self._options, *more)
        command = Command(self._home, "up", *options, **self.environ)
        command.wait_for("Ctrl-C stops it all")
        return command

    def processes(self, role: str) -> Sequence[psutil.Process]:
        found = []
        for process in self._up.children():
            try:
                line = process.cmdline()
            except psutil.Error:
                continue
            is_broker = bool(line) and "java" in Path(line[0]).name and role == "broker"
            if is_broker or ("serve" in line and role in line):
                found.append(process)
        return found

    def look(self) -> None:
        if self._up.process.poll() is not None:
            self._forget()
            self._up = self._start()

    def lose_end(self, lost: int) -> None:
        self.kill()
        [events] = self._home.rglob(f"{LEDGER}.events-0")
        log, topic = events.parent, f"{LEDGER}.events"
        offsets, before = places(log, topic), last_position(log, topic)
        cut_topic(log, topic, offsets[-1 - min(lost, len(offsets) - 1)])
        kept = last_position(log, topic)
        forget_good_order(log)
        killed = now()
        # The readers of this host may not have seen what was lost: the operator knows better.
        options = ("--cut", "--margin", str(MARGIN), "--ledger", LEDGER)
        answer = answer_of(self._home, "recover", *options)
        self._up = self._start("--rebuild")
        window = {"from": killed - DOUBTFUL_S, "to": now()}
        # What was kept and lost is read from the files: the answer of `recover` is judged by it.
        cut = {"kept": kept, "lost": before - kept, "batches": lost, "cut": answer["cut"]}
        self.facts["cuts"].append({**cut, "recovered": answer["position"], **window})

    def kill(self) -> None:
        """End everything as a power cut would."""
        children = self._up.children()
        self._up.process.kill()
        for child in children:
            child.kill()
        self._forget()

    def _forget(self) -> None:
        """Leave nothing of the process that was up."""
        self._up.__exit__(None, None, None)

    def stop(self) -> None:
        if self._up.process.poll() is None:
            children = self._up.children()
            self._up.end(signal.SIGTERM)
            for child in children:
                if child.is_running():
                    child.kill()
        self._forget()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def ledger_host(folder: Path, *options: str) -> Iterator[Host]:
    host = LedgerHost(folder, "--publish", *options)
    try:
        yield host
    finally:
        host.stop()


@contextmanager
def unflushed_host(folder: Path) -> Iterator[Host]:
    with ledger_host(folder, "--no-flush") as host:
        yield host


@contextmanager
def iceberg_host(folder: Path) -> Iterator[Host]:
    with ledger_host(folder, "--iceberg") as host:
        yield host


@contextmanager
def no_host(folder: Path) -> Iterator[Host]:
    yield Nothing(folder)


@contextmanager
def postgres_host(folder: Path) -> Iterator[Host]:
    prepare(sys.stderr)
    with postgres() as port:
        host = Nothing(folder, port=port, user=USER)
        command = [str(programs() / "postgres"), "--version"]  # type: ignore[operator]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        host.facts["server"] = f"PostgreSQL {said.split()[2]}"
        yield host


HostOf = Callable[[Path], Any]


def wait(seconds: float) -> None:
    Signal().wait(seconds)
