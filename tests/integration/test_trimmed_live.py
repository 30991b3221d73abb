"""A lake that is trimmed under load, with kills, is the one that was never trimmed: a small one."""

from pathlib import Path

import pytest

from ledger.machine.kafka.broker import Broker
from tests.integration.trimmed import trimmed_lake

pytestmark = [pytest.mark.integration, pytest.mark.kafka]

EVENTS = 3_000
TABLES = 12


@pytest.mark.parametrize(
    ("spark", "every_s"),
    [(False, 2.0), pytest.param(True, 3.0, marks=[pytest.mark.spark, pytest.mark.slow])],
    ids=["without Spark", "with Spark"],
)
def test_a_trimmed_lake_is_its_twin(tmp_path: Path, *, spark: bool, every_s: float) -> None:
    with Broker.start(tmp_path / "kafka") as broker:
        found = trimmed_lake(broker.bootstrap, tmp_path, EVENTS, TABLES, every_s, spark=spark)
    assert found.differences == []
    assert found.kills > 2
    assert found.begins_at > EVENTS // 2
