"""What the tests of the SDK share: a ledger in memory, and one client of it."""

from collections.abc import Iterator

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings, SequencerSettings
from ledger.log.lossy import LossyLog
from ledger.testing import FixedClock, InMemoryLedger

LEASE_S = 10
ALWAYS = 10**9
# Short, so that what was lost is sent again soon; long enough for a loaded machine to answer.
IMPATIENT = ClientSettings(timeout_s=20.0, attempt_s=0.1)
# A standby notices a crash as soon as it has looked.
ALERT = SequencerSettings(suspect_s=0.01, jitter_s=0.01)


@pytest.fixture
def log() -> LossyLog:
    """Return the log of the ledger, in which nothing is lost yet."""
    return LossyLog()


@pytest.fixture
def memory(log: LossyLog) -> Iterator[InMemoryLedger]:
    with InMemoryLedger(log=log, settings=ALERT) as memory:
        yield memory


@pytest.fixture
def ledger(memory: InMemoryLedger) -> Ledger:
    """Return a client that soon sends again what was not answered."""
    return memory.connect(settings=IMPATIENT, application="etl")


@pytest.fixture
def still(log: LossyLog) -> Iterator[InMemoryLedger]:
    """Return a ledger in memory whose time passes only when a test says so."""
    with InMemoryLedger(log=log, clock=FixedClock(), settings=ALERT) as memory:
        memory.advance(LEASE_S)
        yield memory


def opened(memory: InMemoryLedger) -> list[int]:
    """Return the numbers of all sessions that were opened."""
    rows = memory.reads.history(0, ALWAYS)
    return [row.position for row in rows if row.type == "SessionOpened"]
