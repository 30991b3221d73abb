"""Whatever is killed, moved or unknown: tables equal their topics, record by record."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ingest.histories import STEPS, Step, play

# Spread, since small numbers are drawn most often and each bit of them means something.
numbers = st.integers(0, 10_006).map(lambda number: number * 7919 % 10_007)
steps = st.lists(
    st.builds(Step, st.sampled_from(STEPS), st.integers(0, 5), numbers), min_size=5, max_size=40
)
QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)


@given(steps)
@settings(QUIET, max_examples=25)
def test_tables_equal_their_topics_whatever_happens(history: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        play(history, Path(folder))


@pytest.mark.slow
@given(steps)
@settings(QUIET, max_examples=300)
def test_tables_equal_their_topics_in_300_histories(history: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        play(history, Path(folder))
