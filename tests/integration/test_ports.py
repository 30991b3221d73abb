"""The ports at which a secured ledger and Spark listen: those of docs/security.md, on loopback."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from ledger.machine.folder import SPARK, SPARK_ROWS
from projections.queries import open_reads
from tests.docs.pages import ROOT
from tests.integration.commands import answer_of, environment, up

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

PATIENCE_S: Final = 60.0
# Tells the ports of which Spark can be asked, once it has run SQL and Python functions.
PROGRAM: Final = """
import json, sys
from urllib.parse import urlsplit
from spark_sink import attach
lake = attach()
context = lake.spark.sparkContext
lake.spark.sql("CREATE TABLE ledger.db.t AS SELECT 1 AS id")
assert lake.spark.table("ledger.db.t").rdd.map(len).collect() == [1]
gateway, env = context._gateway, context._jvm.org.apache.spark.SparkEnv.get()
print(json.dumps({
    "Py4J gateway": gateway.gateway_parameters.port,
    "callbacks": gateway.get_callback_server().get_listening_port(),
    "accumulators": context._accumulatorServer.server_address[1],
    "driver": int(env.conf().get("spark.driver.port")),
    "block manager": env.blockManager().blockManagerId().port(),
    "UI": urlsplit(context.uiWebUrl).port,
}), flush=True)
sys.stdin.read()
"""
# The ports of a driver that cannot be asked, for its JVM and for its Python.
OF_FEEDER: Final = {
    "java": ["Py4J gateway", "block manager", "driver"],
    "python": ["accumulators", "callbacks"],
}


def listed() -> dict[str, str]:
    """Return the table of the page: what protects each port, by its name."""
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    _, _, part = text.partition("\n## Listening ports\n")
    part = part.partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| `")]
    return {name.strip(" `"): protection.strip() for name, *_, protection in rows}


def listening(process: Any) -> dict[int, str]:
    found = process.net_connections("inet")
    return {
        each.laddr.port: each.laddr.ip
        for each in found
        if each.status == psutil.CONN_LISTEN or (each.type == socket.SOCK_DGRAM and not each.raddr)
    }


def is_loopback(address: str) -> bool:
    """Tell whether only this machine reaches an address."""
    found = ip_address(address)
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def below(process: Any) -> list[Any]:
    """Return a process and those that it started, without those that have ended."""
    found = [process, *process.children(recursive=True)]
    return [each for each in found if each.status() != psutil.STATUS_ZOMBIE]


@contextmanager
def attached(home: Path) -> Iterator[tuple[Any, dict[int, str]]]:
    """Run a program with an attached session; yield it and the names of its ports."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment(home),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        names: Mapping[str, int] = json.loads(program.stdout.readline())
        yield psutil.Process(program.pid), {port: name for name, port in names.items()}


def names_of_broker(home: Path) -> dict[int, str]:
    text = (home / "lake" / "broker" / "server.properties").read_text("latin-1")
    (line,) = re.findall(r"^listeners=(.*)$", text, re.MULTILINE)
    return {
        int(port): f"broker {name.lower()}"
        for name, port in re.findall(r"(\w+)://[^:]+:(\d+)", line)
    }


def names_in(process: Any, home: Path) -> dict[int, str]:
    words = process.cmdline()
    if "kafka.Kafka" in words:
        return names_of_broker(home)
    if "--http" in words:
        port = int(words[words.index("--http") + 1].rpartition(":")[2])
        return {port: f"HTTP {words[words.index('serve') + 1]}"}
    return {}


def names_of_feeder(feeder: Any) -> dict[int, str]:
    found = dict[int, str]()
    for each in below(feeder):
        ports = sorted(listening(each))
        names = OF_FEEDER["java" if "java" in each.name() else "python"] if ports else []
        assert len(ports) == len(names), (each, ports)
        found |= dict(zip(ports, names, strict=True))
    return found


def stranger(port: int) -> bytes:
    """Return what a server of Python tells a process that shows no token."""
    try:
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as line:
            # Some servers read as many bytes as their token has before they judge it.
            line.sendall(b"c\np0\ncall\ni1\ne\n" + b"x\n" * 200)
            return line.recv(1 << 16)
    except ConnectionError:
        return b""


def feeder_of(processes: Sequence[Any]) -> Any:
    (found,) = [process for process in processes if "feeder" in process.cmdline()]
    return found


def test_each_port_is_in_the_table_and_all_are_on_loopback(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with (
        up(home, "--secure", "--caches", "1", "--publish", "--iceberg", "--spark") as command,
        attached(home) as (program, of_session),
    ):
        position = answer_of(home, "status")["position"]
        with closing(open_reads(home / "lake" / SPARK / SPARK_ROWS)) as fed:
            fed.wait(position, round(PATIENCE_S * 1_000))
        processes = [*below(psutil.Process(command.process.pid)), *below(program)]
        feeder = feeder_of(processes)
        names = of_session | names_of_feeder(feeder)
        for process in processes:
            names.update(names_in(process, home))
        found = dict[str, set[str]]()
        for process in processes:
            is_daemon = "pyspark.daemon" in process.cmdline()
            for port, address in listening(process).items():
                name = "Python workers" if is_daemon else names.get(port, f"{port} of {process}")
                found.setdefault(name, set()).add(address)
        answers = [stranger(port) for port in listening(feeder)]
    assert set(found) == set(listed())
    assert [item for item in found.items() if not all(map(is_loopback, item[1]))] == []
    assert answers == [b"", b""]
