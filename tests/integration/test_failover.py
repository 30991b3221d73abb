"""Brokers of three killed, stopped and left hanging under load: the ledger goes on unharmed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cluster import Cluster
from tests.integration.failover import FAULTS, Fault, run, show

pytestmark = pytest.mark.kafka


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Return three brokers."""
    with Cluster(tmp_path / "kafka") as cluster:
        yield cluster


def broken(cluster: Cluster, folder: Path, faults: list[Fault]) -> list[str]:
    """Return the laws that do not hold, and show the whole series to who runs it with `-s`."""
    series = run(cluster, "failover", folder, faults, seed=1)
    show(series)
    return [f"{check.law}: {check.found}" for check in series.checks if not check.holds]


def test_a_few_strikes(cluster: Cluster, tmp_path: Path) -> None:
    """With the broker that leads the events killed, and one that hangs, the ledger goes on."""
    assert broken(cluster, tmp_path, ["kill", "hang"]) == []


@pytest.mark.slow
def test_many_strikes(cluster: Cluster, tmp_path: Path) -> None:
    """So it does through all faults, one after the other, and after a majority was lost."""
    assert broken(cluster, tmp_path, [*FAULTS] * 3) == []
