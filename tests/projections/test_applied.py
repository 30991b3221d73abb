"""What is known of an event's effect, although the state after it does not hold it any more."""

from collections.abc import Callable

import pytest

from ledger.core.events.events import Event
from ledger.core.state.domain import DomainState
from projections.rows.applied import Applied
from projections.rows.applying import apply
from projections.store.memory import MemoryStore
from tests.driver import Driver, write

Play = Callable[[Driver, int], Event | None]


def last_applied(driver: Driver) -> Applied:
    state = DomainState()
    return [apply(state, event, MemoryStore()) for event in driver.events][-1]


def commit_a_drop(driver: Driver, session: int) -> None:
    table = driver.create_table(session, "flights")
    txn = driver.open_txn(session)
    driver.drop_table(session, table, txn=txn)
    driver.commit(session, txn)


def lose_at_once(driver: Driver, session: int) -> None:
    table = driver.create_table(session, "flights")
    read_at = driver.head.position
    driver.commit(session, 0, write(table, operation="update", read_at=read_at))
    driver.commit(session, 0, write(table, operation="update", read_at=read_at))


def close_two(driver: Driver, session: int) -> None:
    driver.open_txn(session, size=2)
    driver.close_session(session)


@pytest.mark.parametrize(
    ("play", "ended", "names_before"),
    [
        (lambda d, s: d.create_table(s, "flights"), [], [""]),
        (commit_a_drop, [1], ["flights"]),
        (lose_at_once, [], []),
        (close_two, [1, 2], []),
    ],
)
def test_captured(play: Play, ended: list[int], names_before: list[str]) -> None:
    """The txns an event ends and the names its tables had are kept from before it."""
    driver = Driver()
    play(driver, driver.open_session())

    applied = last_applied(driver)

    assert list(applied.ended) == ended
    assert [touched.name_before for touched in applied.tables.values()] == names_before


def test_dropped_table_is_still_readable() -> None:
    driver = Driver()
    commit_a_drop(driver, driver.open_session())

    applied = last_applied(driver)

    assert 1 not in applied.state.tables.by_id
    assert applied.tables[1].table.version == 1


def test_the_mappings_that_the_core_lets_go_are_reported_with_the_event_that_lets_them() -> None:
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "flights")
    txn = driver.open_txn(session)
    driver.allocate(session, [txn], [table])
    driver.commit(session, txn, write(table))

    assert last_applied(driver).cleaned == [(table, 1, txn)]
