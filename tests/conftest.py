"""What many tests share: one real broker, and names that no two tests have in common."""

import signal
from collections.abc import Iterator
from uuid import uuid4

import pytest

from ledger.broker import Broker

# Whoever starts the tests in the background has them ignore Ctrl-C, and all that they start too.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Run one embedded Kafka for all tests marked `kafka`."""
    with Broker.start(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
def ledger_name() -> str:
    """Return a name for a ledger, and so for its topics, that no other test has."""
    return f"test-{uuid4().hex[:12]}"
