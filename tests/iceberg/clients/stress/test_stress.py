"""A short stress run: clients at once, a few kills, and every version is judged."""

from pathlib import Path

import pytest

from ledger.machine.kafka.broker import Broker
from tests.iceberg.clients import spark_environment
from tests.iceberg.clients.stress.journal import DONE
from tests.iceberg.clients.stress.run import Plan, Report, run

pytestmark = pytest.mark.kafka


def finished(report: Report) -> bool:
    """Tell whether a run is right, and each kind of client committed something."""
    kinds = {each.client.partition("-")[0] for each in report.attempts if each.outcome == DONE}
    return report.wrong == [] and kinds >= {"pyiceberg", "duckdb", "sdk"}


@pytest.mark.slow
def test_clients_of_three_kinds_with_kills(
    broker: Broker, ledger_name: str, tmp_path: Path
) -> None:
    plan = Plan(seconds=12.0, every_s=4.0, with_spark=False)
    report = run(broker, ledger_name, tmp_path, plan)
    assert finished(report), report.wrong


@pytest.mark.slow
@pytest.mark.spark
def test_clients_of_four_kinds_with_kills(broker: Broker, ledger_name: str, tmp_path: Path) -> None:
    spark_environment.need()
    report = run(broker, ledger_name, tmp_path, Plan(seconds=300.0))
    assert finished(report), report.wrong
