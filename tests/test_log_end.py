"""The end of a log is told in positions, also where records do not count."""

from ledger.log.log_end import last_position
from ledger.log.memory import MemoryLog
from tests.driver import Driver


def test_the_last_position_is_that_of_the_last_event_that_counts() -> None:
    driver = Driver()
    driver.open_session()
    driver.zombie(driver.events[-1].body)

    assert last_position(driver.log, 0) == driver.head.position == len(driver.records) - 1


def test_a_log_without_events_ends_at_0() -> None:
    assert last_position(MemoryLog(), 0) == 0
