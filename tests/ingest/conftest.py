"""A bench for tests of an ingest."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.testing import InMemoryLedger
from tests.ingest.benches import IngestBench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[IngestBench]:
    with InMemoryLedger() as memory:
        yield IngestBench(memory, tmp_path)
