"""Brokers of three killed, stopped and left hanging under load: the ledger goes on unharmed."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.errors import LogUnavailableError, TopicMissingError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Topic
from tests.integration.cluster import Cluster
from tests.integration.failover import FAULTS, Fault, run, show

pytestmark = pytest.mark.kafka


# Longer than what was just created may be unknown to a client.
ASKED_S = 4.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def broken(cluster: Cluster, ledger: str, folder: Path, faults: list[Fault]) -> list[str]:
    """Return the laws that do not hold, and show the whole series to who runs it with `-s`."""
    series = run(cluster, ledger, folder, faults, seed=1)
    show(series)
    return [f"{check.law}: {check.found}" for check in series.checks if not check.holds]


def test_a_few_strikes(cluster: Cluster, ledger_name: str, tmp_path: Path) -> None:
    """With the broker that leads the events killed, and one that hangs, the ledger goes on."""
    assert broken(cluster, ledger_name, tmp_path, ["kill", "hang"]) == []


@pytest.mark.slow
def test_many_strikes(cluster: Cluster, ledger_name: str, tmp_path: Path) -> None:
    """So it does through all faults, one after the other, and after a majority was lost."""
    assert broken(cluster, ledger_name, tmp_path, [*FAULTS] * 3) == []


def test_a_topic_is_missing_only_if_its_broker_is_there(cluster: Cluster, ledger_name: str) -> None:
    create_topics(cluster.bootstrap, ledger_name)
    leader = cluster.leader_of(ledger_name, Topic.EVENTS)
    cluster.kill(leader)
    cluster.wait_leaderless(ledger_name, Topic.EVENTS)
    with closing(KafkaLog(cluster.bootstrap, ledger_name)) as log:
        with pytest.raises(LogUnavailableError, match="its leader is changing") as told:
            log.ends(Topic.EVENTS, ASKED_S)
        assert not isinstance(told.value, TopicMissingError)
        with pytest.raises(TopicMissingError):
            log.ends(Topic.CACHE, ASKED_S)
    cluster.start(leader)
