"""What the tests of Iceberg imports share: a ledger in memory, and one client of it."""

from collections.abc import Iterator

import pytest

from ledger.client import Ledger
from ledger.testing import InMemoryLedger


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def ledger(memory: InMemoryLedger) -> Ledger:
    return memory.connect()
