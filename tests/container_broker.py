"""A Kafka in a container: what the tests of one broker need, where a container engine is present.

With LAKELEDGER_TEST_BROKER=container the tests marked `kafka` run against it and not against the
embedded broker. Tests that kill a broker, or pause it, start one of their own all the same. The
container is in the network of its host, so that the broker listens on loopback alone.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from docker.errors import DockerException
from testcontainers.core.container import DockerContainer

from ledger.errors import BrokerError
from ledger.log.kafka.topics import wait_until_ready
from ledger.machine.endpoints import Endpoint, free_endpoint

IMAGE: Final = "apache/kafka:4.3.1"
READY_S: Final = 120.0
CHOICE: Final = "LAKELEDGER_TEST_BROKER"
CONTAINER: Final = "container"


class ContainerBroker(NamedTuple):
    """A broker that is running and ready; `bootstrap` is the address for clients."""

    bootstrap: str


def is_chosen() -> bool:
    """Tell whether tests are to run against a broker in a container."""
    return os.environ.get(CHOICE) == CONTAINER


@contextmanager
def running_container(engine: Mapping[str, str] | None = None) -> Iterator[ContainerBroker]:
    """Yield a broker in a container that is gone afterwards.

    `engine` are the variables that tell the Docker client where the engine is, by default those of
    this process. Raises BrokerError if there is none, or if the broker is not ready in time.
    """
    at = free_endpoint()
    client = {"environment": {**(os.environ if engine is None else engine)}}
    try:
        container = DockerContainer(IMAGE, docker_client_kw=client, network_mode="host")
        started = container.with_envs(**environment(at, free_endpoint())).start()
    except DockerException as problem:
        raise BrokerError(
            f"no broker can be started in a container: {problem}. Start a container engine, or "
            f"leave {CHOICE} out, and the embedded broker serves the tests"
        ) from problem
    with started:
        if not wait_until_ready(str(at), READY_S):
            raise BrokerError(f"the broker in {IMAGE} is not ready after {READY_S} s")
        yield ContainerBroker(str(at))


def environment(at: Endpoint, controller: Endpoint) -> dict[str, str]:
    """Return the settings of a broker of one node for clients of this machine, who come to `at`."""
    return {
        "CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk",
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": f"1@{controller}",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_LISTENERS": f"INSIDE://{at},CONTROLLER://{controller}",
        "KAFKA_ADVERTISED_LISTENERS": f"INSIDE://{at}",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "INSIDE",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
        "KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE": "false",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR": "1",
    }
