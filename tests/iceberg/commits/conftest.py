"""What the tests of commits share: a ledger in memory with a warehouse, and a client of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.testing import InMemoryLedger
from tests.iceberg.commits.rest_client import RestClient


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as made:
        yield made


@pytest.fixture
def client(memory: InMemoryLedger, tmp_path: Path) -> RestClient:
    """Return a client whose catalog has the namespace `db`."""
    ledger = memory.connect(warehouse=tmp_path / "lake")
    ledger.create_namespace("db")
    return RestClient(ledger)
