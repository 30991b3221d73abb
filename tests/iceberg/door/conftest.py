"""A catalog over a fresh ledger in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.testing import InMemoryLedger
from tests.iceberg.door.doors import Door, answering


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def door(memory: InMemoryLedger, tmp_path: Path) -> Iterator[Door]:
    with answering(memory, tmp_path) as door:
        yield door
