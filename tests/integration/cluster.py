"""A cluster of three real Kafka brokers, as data that matters is kept on: what one of them cannot.

Three nodes, each broker and controller, on loopback. Topics with three replicas outlive any one of
them, so here brokers are killed, paused and brought back while a ledger works. The sessions of the
brokers are as short as those of a cluster whose operators want a quick change of leader.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, TopicDescription

from ledger.log.kafka.topic_settings import topic_name
from ledger.log.port import Topic
from ledger.machine.kafka.broker_folder import LOOPBACK, free_port
from ledger.machine.kafka.jars import BROKER, jar_paths
from ledger.machine.kafka.java import find_java
from tests.log.kafka_bench import eventually

NODES: Final = (1, 2, 3)
REPLICATION: Final = len(NODES)
CLUSTER_ID: Final = "bGFrZWxlZGdlci10ZXN0cw"
SESSION_MS: Final = 2_000
READY_S: Final = 90.0
ASK_S: Final = 5.0
FLAGS: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms64m", "-Xmx320m", "-Xss512k")
PROPERTIES: Final[Mapping[str, object]] = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": SESSION_MS // 4,
    "broker.session.timeout.ms": SESSION_MS,
    "num.io.threads": 2,
    "num.network.threads": 1,
    "num.replica.fetchers": 1,
    "log.cleaner.threads": 1,
    "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,
    "log.dirs": "log",
}


class Node(NamedTuple):
    """One broker of a cluster: its number, its folder, and where clients and controllers ask it."""

    number: int
    folder: Path
    clients: str
    controllers: str

    @property
    def properties(self) -> Path:
        """The file that it is started with."""
        return self.folder / "server.properties"


class Cluster:
    """Three brokers; a `with` block formats and starts them, and ends them all.

    Attributes:
        bootstrap: the addresses of all of them, for clients.
    """

    def __init__(self, folder: Path) -> None:
        self._nodes = {
            number: Node(number, folder / f"node-{number}", free_place(), free_place())
            for number in NODES
        }
        self.bootstrap = ",".join(node.clients for node in self._nodes.values())
        self._java = str(find_java().executable)
        classes = ":".join(map(str, jar_paths(BROKER)))
        self._environment = {**os.environ, "CLASSPATH": classes}
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, number: int) -> None:
        """Start a node, or start it again in the folder it had."""
        node = self._nodes[number]
        with (node.folder / "broker.log").open("ab") as output:
            self._running[number] = subprocess.Popen(
                self._command("kafka.Kafka", str(node.properties)),
                cwd=node.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self, number: int) -> None:
        """End a node as a crash would; its folder stays."""
        process = self._running.pop(number)
        process.kill()
        process.wait()

    def stop(self, number: int) -> None:
        """End a node in good order: it hands its partitions over first."""
        process = self._running.pop(number)
        process.terminate()
        process.wait(READY_S)

    def pause(self, number: int) -> None:
        """Let a node hang, wherever it is: its connections stay open, and nothing answers there."""
        self._running[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        """Let a node that hangs go on."""
        self._running[number].send_signal(signal.SIGCONT)

    def leader_of(self, ledger: str, topic: Topic) -> int:
        """Return the node that leads the partition of a topic, once there is one."""
        found: list[int] = []

        def has_leader() -> bool:
            leader = self._partition(ledger, topic)[0]
            if leader in self._running:
                found.append(leader)
            return bool(found)

        eventually(has_leader, READY_S)
        return found[0]

    def wait_leaderless(self, ledger: str, topic: Topic) -> None:
        """Wait until the cluster has noticed that nobody is left to lead a topic."""
        eventually(lambda: self._partition(ledger, topic)[0] == 0, READY_S)

    def wait_in_sync(self, ledger: str) -> None:
        """Wait until every running node has all records of a ledger's commands and events."""
        for topic in (Topic.COMMANDS, Topic.EVENTS):
            eventually(partial(self._is_in_sync, ledger, topic), READY_S)

    def _is_in_sync(self, ledger: str, topic: Topic) -> bool:
        return self._running.keys() <= self._partition(ledger, topic)[1]

    def _partition(self, ledger: str, topic: Topic) -> tuple[int, frozenset[int]]:
        """Return the leader of a topic, 0 if there is none, and the nodes that are in sync."""
        name = topic_name(ledger, topic)
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        asked = admin.describe_topics(TopicCollection([name]), request_timeout=ASK_S)
        description: TopicDescription = asked[name].result()
        [partition] = description.partitions
        leader = 0 if partition.leader is None else max(0, partition.leader.id)
        return leader, frozenset(node.id for node in partition.isr)

    def _format(self, node: Node) -> None:
        node.folder.mkdir(parents=True)
        voters = (f"{each.number}@{each.controllers}" for each in self._nodes.values())
        here = {
            "node.id": node.number,
            "controller.quorum.voters": ",".join(voters),
            "listeners": f"PLAINTEXT://{node.clients},CONTROLLER://{node.controllers}",
            "advertised.listeners": f"PLAINTEXT://{node.clients}",
        }
        lines = [f"{name}={value}\n" for name, value in {**PROPERTIES, **here}.items()]
        node.properties.write_text("".join(lines))
        flags = (f"--cluster-id={CLUSTER_ID}", f"--config={node.properties}")
        subprocess.run(
            self._command("kafka.tools.StorageTool", "format", *flags),
            cwd=node.folder,
            env=self._environment,
            check=True,
            capture_output=True,
        )

    def _command(self, *arguments: str) -> Sequence[str]:
        return [self._java, *FLAGS, "-Dlog4j2.level=WARN", *arguments]

    def _is_ready(self) -> bool:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return len(admin.list_topics(timeout=ASK_S).brokers) == len(NODES)

    def __enter__(self) -> Self:
        try:
            for node in self._nodes.values():
                self._format(node)
                self.start(node.number)
            eventually(self._is_ready, READY_S)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        for number in list(self._running):
            self.kill(number)


def free_place() -> str:
    """Return a place on loopback where nobody listens."""
    return f"{LOOPBACK}:{free_port()}"
