"""A few simulated logs lose their end; `python -m tests.recovery` runs as many as are wanted."""

import pytest

from tests.recovery.simulated import run


@pytest.mark.parametrize("seed", range(3))
def test_a_simulated_log(seed: int) -> None:
    """What a log gives behind its cut it had not given before, whatever struck it."""
    run(seed)
