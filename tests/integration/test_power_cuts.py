"""Brokers that lose power: what is flushed stays, what is lost is told and never given again."""

from pathlib import Path

import pytest

from tests.integration.power.series import broken, run, show

pytestmark = pytest.mark.kafka


@pytest.mark.slow
def test_ledgers_that_lose_topics_at_random_come_back_by_what_errors_name(tmp_path: Path) -> None:
    series = run(tmp_path, batches=12, seed=1)
    show(series)
    assert broken(series) == []
    assert series.facts["refused to come up"]
    assert series.facts["durable"]
