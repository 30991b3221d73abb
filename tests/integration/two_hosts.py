"""Two hosts on one machine: network namespaces with a wire between them, and a Kafka in the first.

A host shares the disks of the machine, as hosts share a network file system. Making one needs the
rights of an administrator.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from ledger.machine.kafka.broker import _Kafka  # the command lines of Kafka's programs
from ledger.machine.kafka.broker_folder import _PROPERTIES
from ledger.machine.kafka.jars import BROKER, jar_paths
from ledger.machine.kafka.java import find_java
from tests.integration.commands import PROGRAM, Command, environment

IP: Final = shutil.which("ip")
CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qk"
FLAGS: Final = ("-XX:TieredStopAtLevel=1", "-Xms64m", "-Xmx256m")
ALIVE_S: Final = 60.0


class Host:
    """A host by its namespace and address; `settings` are the variables of its processes."""

    def __init__(self, name: str, address: str, home: Path) -> None:
        self.name, self.address, self.home = name, address, home
        self.settings: dict[str, str] = {}

    def prefix(self) -> tuple[str, ...]:
        return str(IP), "netns", "exec", self.name

    def start(self, *arguments: str) -> Command:
        """Start a command that keeps running."""
        return Command(self.home, *arguments, program=(*self.prefix(), *PROGRAM), **self.settings)

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        return subprocess.run(
            [*self.prefix(), *command],
            env={**environment(self.home), **self.settings},
            capture_output=True,
            text=True,
            timeout=ALIVE_S,
            check=False,
        )

    def lakeledger(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run((*PROGRAM, *arguments))


def why_not() -> str | None:
    """Return why no hosts can be made here, None if they can."""
    if IP is None:
        return "there is no program ip"
    probe = f"ll-probe-{os.getpid()}"
    try:
        ip("netns", "add", probe)
        ip("netns", "exec", probe, "true")
    except subprocess.CalledProcessError as refusal:
        return f"network namespaces cannot be made: {refusal.stderr.decode().strip()}"
    finally:
        subprocess.run([IP, "netns", "del", probe], capture_output=True, check=False)
    return None


def ip(*arguments: str) -> None:
    subprocess.run([str(IP), *arguments], check=True, capture_output=True)


@contextmanager
def two_hosts(folder: Path) -> Iterator[tuple[Host, Host]]:
    """Make two hosts with a wire between them."""
    number = os.getpid() % 250 + 1
    hosts = tuple(
        Host(f"ll-{side}-{os.getpid()}", f"10.213.{number}.{at}", folder / f"host-{side}")
        for at, side in enumerate("ab", start=1)
    )
    with ExitStack() as held:
        for host in hosts:
            ip("netns", "add", host.name)
            held.callback(ip, "netns", "del", host.name)
        wires = [f"ll{side}{os.getpid()}" for side in "ab"]
        ip("link", "add", wires[0], "type", "veth", "peer", "name", wires[1])
        for host, wire in zip(hosts, wires, strict=True):
            ip("link", "set", wire, "netns", host.name)
            ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", wire)
            for line in (wire, "lo"):
                ip("-n", host.name, "link", "set", line, "up")
        yield hosts[0], hosts[1]


@contextmanager
def kafka_on(host: Host, folder: Path) -> Iterator[str]:
    """Run a Kafka on a host that other hosts reach; yield its address."""
    folder.mkdir()
    clients, controller = f"{host.address}:9092", f"{host.address}:9093"
    properties: dict[str, Any] = {
        **_PROPERTIES,
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{clients},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{clients}",
        "log.dirs": folder / "log",
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    kafka = _Kafka(find_java(), jar_paths(BROKER))
    made = ("kafka.tools.StorageTool", "format", f"--cluster-id={CLUSTER}", f"--config={file}")
    subprocess.run(
        kafka.command(*FLAGS, *made), env=kafka.environment, check=True, capture_output=True
    )
    with (folder / "broker.log").open("ab") as output:
        process = subprocess.Popen(
            [*host.prefix(), *kafka.command(*FLAGS, "kafka.Kafka", str(file))],
            env=kafka.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield clients
    finally:
        process.terminate()
        process.wait(ALIVE_S)
