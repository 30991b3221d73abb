"""A lake whose processes are killed in turn: caches and stores end as the log alone makes them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ledger.machine.kafka.broker import Broker
from tests.integration.soak.run import Plan, run
from tests.integration.soak.told import show

pytestmark = pytest.mark.kafka


def wrong(broker: Broker, ledger: str, folder: Path, plan: Plan) -> Sequence[str]:
    """Return what was not as it should be; the whole is told to who runs it with `-s`."""
    report = run(broker, ledger, folder, plan)
    show(report)
    return report.wrong


@pytest.mark.slow
def test_half_a_minute(broker: Broker, ledger_name: str, tmp_path: Path) -> None:
    """Every process but Spark's is killed once: nobody is told anything wrong, all come back."""
    plan = Plan(lasts_s=30.0, every_s=3.0, seed=1, with_spark=False)
    assert wrong(broker, ledger_name, tmp_path, plan) == []


@pytest.mark.slow
@pytest.mark.spark
def test_five_minutes(broker: Broker, ledger_name: str, tmp_path: Path) -> None:
    """Every process, Spark's too, is killed again and again: it is the same."""
    plan = Plan(lasts_s=300.0, every_s=10.0, seed=2, with_spark=True)
    assert wrong(broker, ledger_name, tmp_path, plan) == []
