"""Definitions that contradict themselves are refused, of a new table and of one that is altered."""

import pytest

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.events.events import CommandRefused, TableAltered
from ledger.core.refusals import Reason
from tests.core.parts import table_of
from tests.driver import Driver

PLAIN = table_of(("delay", "int"), ("day", "date"))
SAME_ID = [Column("delay", "int", nullable=True, id=3), Column("day", "date", nullable=True, id=3)]
NO_ID = [each._replace(id=0) for each in SAME_ID]


def with_keys(*keys: str) -> TableDefinition:
    return PLAIN._replace(properties=[Property(key, "true") for key in keys])


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (PLAIN._replace(columns=SAME_ID), "one id for 'delay' and 'day'"),
        (with_keys("owner", "owner"), "keys must differ, got 'owner' and 'owner'"),
        (with_keys("delta.a", "DELTA.A"), "keys must differ, got 'delta.a' and 'DELTA.A'"),
    ],
)
def test_contradictions(made: TableDefinition, said: str) -> None:
    """Of two that are known by one name nobody could say which one counts."""
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "flights", made=PLAIN)
    driver.create_table(session, "planes", made=made)
    driver.alter_table(session, table, made, "SET")

    for body in (event.body for event in driver.events[-2:]):
        assert isinstance(body, CommandRefused)
        assert (body.reason, said in body.message) == (Reason.COMMAND_INVALID, True)


@pytest.mark.parametrize(
    "made", [PLAIN._replace(columns=NO_ID), with_keys("Owner", "owner", "delta.appendOnly")]
)
def test_columns_may_lack_ids_and_own_keys_differ_by_case(made: TableDefinition) -> None:
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "flights", made=PLAIN)

    assert isinstance(driver.alter_table(session, table, made, "SET").body, TableAltered)
