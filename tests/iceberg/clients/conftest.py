"""What the tests of clients share: a ledger in memory whose catalog answers on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.iceberg.clients.readers import Served
from tests.iceberg.clients.served import serving_catalog


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Served]:
    with serving_catalog(tmp_path) as found:
        yield found
