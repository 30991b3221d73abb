"""A follower with a small lake of its own, for a whole module of tests."""

from collections.abc import Iterator

import pytest

from tests.web.lake import Lake
from tests.web.looks import seen
from tests.web.served import Served, rows_in, serving


@pytest.fixture(scope="module")
def lake() -> Lake:
    """Return the played ledger that a module shares."""
    return Lake()


@pytest.fixture(scope="module")
def served(lake: Lake) -> Iterator[Served]:
    """Return a server over the rows of the lake."""
    with serving(rows_in(lake), seen=seen) as served:
        yield served
