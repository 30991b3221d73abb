"""What if: real history judged again at another level, without a word to the log."""

import pytest

from ledger.core.commands import CommitTxn, IsolationLevel
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.log.replay import what_if
from tests.core.parts import part, table_of
from tests.driver import Driver, write

PASSED = ("committed", "would commit")
FAILS = ("committed", "would fail")
PASSES = ("failed", "would commit")
FAILED = ("failed", "would fail")


def history() -> Driver:
    """Return a log in which a DELETE read before a blind append and committed after it, twice.

    The second asked for Serializable and lost.
    """
    driver = Driver()
    ada, bob = driver.open_session("ada"), driver.open_session("bob")
    table = driver.create_table(ada, "t")
    read_at = driver.state.position
    driver.commit(ada, 0, part(table, adds=["[]"]))
    for level in ("", "Serializable"):
        delete = part(table, "DELETE", read_at=read_at, reads=[TRUE_PREDICATE])
        driver.ask(CommitTxn(*driver.asks(bob), 0, (delete,), level))
    return driver


@pytest.mark.parametrize(
    ("level", "told"),
    [
        ("SnapshotIsolation", [PASSED, PASSED, PASSES]),
        ("WriteSerializable", [PASSED, PASSED, PASSES]),
        ("Serializable", [PASSED, FAILS, FAILED]),
    ],
)
def test_levels(level: IsolationLevel, told: list[tuple[str, str]]) -> None:
    """A level is weaker or stronger than the one that was: commits pass or fail that did not."""
    driver = history()
    before = driver.state.position
    found = [
        (
            "committed" if each.committed else "failed",
            "would commit" if each.would_commit else "would fail",
        )
        for each in what_if(driver.log, level)
    ]

    assert found == told
    assert driver.state.position == before


@pytest.mark.parametrize("level", ["SnapshotIsolation", "WriteSerializable", "Serializable"])
@pytest.mark.parametrize("winner", ["alter", "drop"])
def test_who_lost_over_a_table_that_it_changed_loses(level: IsolationLevel, winner: str) -> None:
    driver = Driver()
    ada, bob = driver.open_session("ada"), driver.open_session("bob")
    one, two = (driver.create_table(ada, name) for name in ("one", "two"))
    txn = driver.open_txn(bob)
    driver.alter_table(bob, one, table_of(p="1"), "SET TBLPROPERTIES", txn=txn)
    if winner == "alter":
        driver.alter_table(ada, one, table_of(p="2"), "SET TBLPROPERTIES")
    else:
        driver.drop_table(ada, one)
    driver.commit(bob, txn, write(two))

    lost = list(what_if(driver.log, level))[-1]
    assert (lost.txn, lost.committed, lost.would_commit) == (txn, False, False)


def test_only_commits_from_a_position_on_are_judged() -> None:
    driver = history()
    last = driver.state.position
    found = list(what_if(driver.log, "Serializable", since=last))

    assert [each.position for each in found] == [last]
    assert found[0].evidence is not None
