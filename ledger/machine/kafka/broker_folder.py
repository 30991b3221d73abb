"""The folder of an embedded Kafka: its lock, its ports, its properties, and whether it is sound.

    server.properties   written anew at every start; keeps the ports
    log/                Kafka's own: meta.properties names the cluster
    broker.log          the broker's output
    lock                held while the broker's process lives

`broker` starts and ends the processes.
"""

import fcntl
import os
import random
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ledger.config.private import make_private, write_private
from ledger.errors import BrokerDamagedError, BrokerError
from ledger.machine.kafka.listeners import Listeners, make_plain, secured

LOOPBACK = "127.0.0.1"
# Below the range from which systems take the ports of outgoing connections: a client that retries
# the address of a stopped broker would now and then connect to itself and so take the port.
_PORTS = range(20_000, 32_768)
_LOCK_WAIT_S = 3.0
# A shell's redirections have numbers of one digit, and would close a lock that has the same.
_LOCK_NUMBER_MIN = 10
_PAUSE_S = 0.05

# One node, few threads, nothing replicated. The short session lets a broker that was killed come
# back at once: the node's old registration has to expire first. No idle records: an idle broker
# writes nothing.
_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": 100,
    # Shorter, and a busy machine fences its only broker; longer, and a killed one starts late.
    "broker.session.timeout.ms": 2_000,
    "metadata.max.idle.interval.ms": 0,
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,
    "log.cleaner.threads": 1,
    "num.io.threads": 2,
    "num.network.threads": 1,
    "num.recovery.threads.per.data.dir": 1,
}


@dataclass(frozen=True, slots=True)
class BrokerFolder:
    """A folder that one broker at a time may use; `path` is absolute."""

    path: Path

    @property
    def properties(self) -> Path:
        """The file that Kafka is started with."""
        return self.path / "server.properties"

    @property
    def output(self) -> Path:
        """The file of the broker's output."""
        return self.path / "broker.log"

    @property
    def is_formatted(self) -> bool:
        """Whether the folder belongs to a cluster already."""
        return self._identity.exists()

    @property
    def _log(self) -> Path:
        return self.path / "log"

    @property
    def _identity(self) -> Path:
        return self._log / "meta.properties"

    def lock(self) -> TextIO:
        """Take the folder for one broker; the lock ends with the last process that has it open.

        Waits a moment, since the broker of a parent that has just died may still be ending.
        """
        make_private(self.path)
        with (self.path / "lock").open("w") as opened:
            lock = os.fdopen(fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, _LOCK_NUMBER_MIN), "w")
        deadline = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    lock.close()
                    raise BrokerError(
                        f"The folder {self.path} is in use by another broker. Stop that one, or"
                        " start this one in another folder."
                    ) from None
                time.sleep(_PAUSE_S)
            else:
                return lock

    def check(self) -> None:
        """Raise BrokerDamagedError if Kafka would lose what is in the folder.

        Kafka takes a folder without its identity or its metadata for a new one and then removes
        every topic it does not know.
        """
        if not self._log.exists():
            return
        was_started = any(child.is_dir() for child in self._log.iterdir())
        needed = ("meta.properties", "__cluster_metadata-0") if was_started else ()
        lost = [name for name in needed if not (self._log / name).exists()]
        if self.is_formatted and "cluster.id" not in read_properties(self._identity):
            lost.append("cluster.id in meta.properties")
        if lost:
            raise BrokerDamagedError(
                f"The folder {self.path} is damaged: {lost[0]} is missing below log. Put back a"
                " copy of the whole folder, or start with an empty one."
            )

    def check_topics(self) -> None:
        """Raise BrokerDamagedError if the broker that has just started left a topic out.

        Kafka cuts damaged metadata off at the first bad record and starts without the topics that
        were named behind it, setting their records aside.
        """
        if strays := sorted(self._log.glob("*-stray")):
            partitions = ", ".join(stray.name.rpartition(".")[0] for stray in strays)
            raise BrokerDamagedError(
                f"The metadata of {self.path} is damaged: Kafka no longer knows the partitions"
                f" {partitions}. Put back a copy of the whole folder; if you had deleted these"
                " topics yourself, remove the folders log/*-stray."
            )

    def choose_port(self, wanted: int | None) -> int:
        """Return the port for clients: the wanted one, else the one kept here, else a free one.

        Raises:
            BrokerError: the wanted or kept port is in use.
        """
        kept = read_properties(self.properties).get("advertised.listeners", "")
        port = wanted or int(kept.rpartition(":")[2] or 0) or free_port()
        if not _is_free(port):
            raise BrokerError(
                f"Port {port} of {LOOPBACK}, {'requested' if wanted else 'kept for this folder'},"
                " is in use. Stop the process that listens there, or choose another port."
            )
        return port

    def write_properties(self, port: int, *, secure: Path | None = None) -> Listeners:
        """Write the file for a start at this port; the other ports are new every time.

        `secure` is the folder of the certificates of a secured broker.
        """
        clients, (controller, admin) = (
            f"{LOOPBACK}:{port}",
            (f"{LOOPBACK}:{each}" for each in free_ports(2, other_than=port)),
        )
        if secure is None:
            listeners = make_plain(clients, controller)
        else:
            # Seen from the working directory of Kafka's programs, as "log.dirs" is.
            near = Path(os.path.relpath(secure, self.path))
            listeners = secured(clients, controller, admin, near)
        here = {
            "controller.quorum.voters": f"1@{controller}",
            **listeners.properties,
            # Below the working directory of Kafka's programs. As a whole path it would be read as
            # another one: a comma parts folders, a backslash escapes, and letters are Latin-1.
            "log.dirs": self._log.name,
        }
        draft = self.properties.with_suffix(".draft")
        lines = [f"{name}={value}\n" for name, value in {**_PROPERTIES, **here}.items()]
        write_private(draft, "".join(lines))
        draft.replace(self.properties)
        return listeners


def read_properties(file: Path) -> Mapping[str, str]:
    """Return a Java properties file of plain lines; empty for a file that does not exist."""
    if not file.exists():
        return {}
    lines = (line.partition("=") for line in file.read_text(errors="replace").splitlines())
    return {name: value for name, equals, value in lines if equals}


def free_port(other_than: int = 0) -> int:
    """Return a free port of loopback, below the ports of outgoing connections."""
    candidates = random.SystemRandom().sample(_PORTS, 100)
    return next(port for port in candidates if port != other_than and _is_free(port))


def free_ports(number: int, other_than: int) -> list[int]:
    """Return several free ports of loopback."""
    found: list[int] = []
    while len(found) < number:
        port = free_port(other_than)
        if port not in found:
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As Java does: connections of a former broker that are still closing do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
