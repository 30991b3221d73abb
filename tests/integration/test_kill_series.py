"""Leaders killed and paused under load: nothing is lost, doubled, forked or left unanswered."""

import pytest

from ledger.machine.kafka.broker import Broker
from tests.integration.kill_series import Series, run, show

pytestmark = pytest.mark.kafka


def broken(series: Series) -> list[str]:
    """Return the laws that do not hold, and show the whole series to who runs it with `-s`."""
    show(series)
    return [f"{check.law}: {check.found}" for check in series.checks if not check.holds]


def test_two_leaders_killed_and_one_paused_keep_every_law(broker: Broker, ledger_name: str) -> None:
    assert broken(run(broker, ledger_name, kills=2, stops=1, seed=1)) == []


@pytest.mark.slow
def test_twenty_leaders_killed_and_five_paused_keep_laws(broker: Broker, ledger_name: str) -> None:
    assert broken(run(broker, ledger_name, kills=20, stops=5, seed=2)) == []
