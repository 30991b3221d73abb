"""The acceptor: bytes to events, by the accept rule and the versions this reader knows."""

import pytest

from ledger.core.acceptance import LogHead
from ledger.core.events import Resigned
from ledger.errors import IncompatibleError, LogDamagedError
from ledger.log.acceptor import Acceptor
from ledger.log.codec import HEADER, MAGIC
from ledger.log.port import Record
from ledger.version import READER_VERSION
from tests.driver import Driver

LATER_TYPE = HEADER.pack(MAGIC, 741_999)


@pytest.fixture
def driver() -> Driver:
    """Return a ledger of one session, led for the second time."""
    driver = Driver()
    driver.open_session()
    driver.fence()
    return driver


def reader_of(records: list[Record]) -> Acceptor:
    """Return an acceptor that has taken these records."""
    acceptor = Acceptor(LogHead())
    for record in records:
        acceptor.take(record.value)
    return acceptor


def test_unknown_type_of_a_zombie_is_dropped(driver: Driver) -> None:
    """A record of a later version that does not count stops nobody."""
    driver.zombie(Resigned("newer"))
    *known, zombie = driver.records

    assert reader_of(known).take(LATER_TYPE + zombie.value[HEADER.size :]) is None


def test_unknown_type_that_counts_stops_the_reader(driver: Driver) -> None:
    """What a later version wrote and everyone counts cannot be passed over."""
    driver.internal(Resigned("newer"))
    *known, newest = driver.records
    acceptor = reader_of(known)

    with pytest.raises((IncompatibleError, LogDamagedError)):
        acceptor.take(LATER_TYPE + newest.value[HEADER.size :])


def test_fence_for_later_readers_stops_this_one(driver: Driver) -> None:
    """A leader may say that what follows takes a later reader."""
    acceptor = reader_of(driver.records)
    other = Driver()
    other.open_session()
    other.fence()

    with pytest.raises(IncompatibleError, match="needs a reader"):
        other.fence(min_reader=READER_VERSION + 1)
    with pytest.raises(LogDamagedError, match="position"):
        acceptor.take(b"\x00garbage")
