"""The fixtures of this package, which pytest finds by itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ledger.client import Ledger
    from ledger.testing import InMemoryLedger


@pytest.fixture
def in_memory_ledger() -> "Iterator[InMemoryLedger]":
    """Return a ledger in the process of the test, see `ledger.testing.InMemoryLedger`."""
    from ledger.testing import InMemoryLedger  # noqa: PLC0415 - only where a test asks for it

    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def ledger_client(in_memory_ledger: "InMemoryLedger", tmp_path: Path) -> "Ledger":
    """Return a client of `in_memory_ledger`, whose tables lie below the folder of the test."""
    return in_memory_ledger.connect(warehouse=tmp_path / "warehouse")
