"""What if: real history judged again at another level, without a word to the log."""

import pytest

from ledger.core.commands import CommitTxn
from ledger.core.ids import IsolationLevel
from ledger.core.predicates import TRUE_PREDICATE
from ledger.whatif import what_if
from tests.core.parts import part
from tests.driver import Driver

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


def test_since() -> None:
    """Only commits from a position on are judged; the winners before them still count."""
    driver = history()
    last = driver.state.position
    found = list(what_if(driver.log, "Serializable", since=last))

    assert [each.position for each in found] == [last]
    assert found[0].evidence is not None
