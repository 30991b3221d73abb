"""Conflicts: one row for whoever lost, with what was attempted and the evidence against it."""

from collections.abc import Callable

import pytest

from ledger.core.commands import CommitTxn
from projections.queries import StoreReads
from tests.core.parts import footprint
from tests.driver import write
from tests.projections.filing import commit, files_of, stage, writing
from tests.projections.followed import Followed

Play = Callable[[Followed, int, int], int]


def in_a_txn(domain: Followed, session: int, table: int) -> int:
    """Lose a txn against a commit at once; return the position of the loss."""
    commit(domain, session, table, ["a"])
    txn = domain.open_txn(session)
    part = writing(domain, table, ["b"], ["a"])
    commit(domain, session, table, [], ["a"])
    asks = domain.asks(session)
    return domain.ask(CommitTxn(*asks, txn, [part], "Serializable")).control.position


def at_once(domain: Followed, session: int, table: int) -> int:
    """Lose a commit without a txn."""
    commit(domain, session, table, ["a"])
    part = writing(domain, table, ["b"], ["a"])
    commit(domain, session, table, [], ["a"])
    return domain.commit(session, 0, part).control.position


def in_chunks(domain: Followed, session: int, table: int) -> int:
    commit(domain, session, table, ["a"])
    txn = domain.open_txn(session)
    chunks = stage(domain, session, txn, table, files_of(["b"], ["a"]))
    part = writing(domain, table, ["d"], chunks=chunks)
    commit(domain, session, table, [], ["a"])
    return domain.commit(session, txn, part).control.position


def coarse(domain: Followed, session: int, table: int) -> int:
    """Lose over rows of a partition."""
    domain.open_txn(session, size=2)
    domain.commit(session, 1, write(table, operation="update", partition="day=1"))
    lost = write(table, operation="delete", partition="day=1")
    return domain.commit(session, 2, lost).control.position


def played(domain: Followed, play: Play) -> tuple[StoreReads, int]:
    session = domain.open_session("bob")
    position = play(domain, session, domain.create_table(session, "flights"))
    return domain.reads, position


@pytest.mark.parametrize(
    ("play", "txn", "rule", "level"),
    [
        (in_a_txn, 2, "file_removed_twice", "Serializable"),
        (at_once, 0, "file_removed_twice", ""),
        (in_chunks, 2, "file_removed_twice", ""),
        (coarse, 2, "coarse_write_write", ""),
    ],
)
def test_lost(domain: Followed, play: Play, txn: int, rule: str, level: str) -> None:
    """Whoever lost has one row, with or without a txn, found by position or by txn."""
    reads, position = played(domain, play)

    (row,) = reads.conflicts(0, 9)
    event = domain.events[position - 1]
    assert (row.position, row.at, row.txn) == (position, event.control.at, txn)
    assert (row.user, row.evidence.rule, row.level) == ("bob", rule, level)
    assert row.evidence == getattr(event.body, "evidence", None)
    assert row.attempted == tuple(getattr(event.body, "attempted", ()))
    assert reads.conflict(txn) == (row if txn else None)


def test_file_of_a_conflict(domain: Followed) -> None:
    reads, _ = played(domain, in_a_txn)

    (row,) = reads.conflicts(0, 9)
    kind, _, hashed = row.evidence.unit.partition(" ")
    assert kind == "file"
    assert reads.file_paths(1, bytes.fromhex(hashed)) == ["a"]


def test_conflicts_are_listed_from_a_position_on_up_to_a_limit(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    stale = writing(domain, table, ["x"], said=footprint("UPDATE", reads_whole=True))
    commit(domain, session, table, [], ["a"])
    lost = [domain.commit(session, 0, stale).control.position for _ in range(4)]
    reads = domain.reads

    assert [row.position for row in reads.conflicts(0, 9)] == lost
    assert [row.position for row in reads.conflicts(lost[0], 2)] == lost[1:3]
    assert [row.position for row in reads.conflicts(-7, 1)] == lost[:1]
    assert reads.conflicts(lost[-1], 9) == []


@pytest.mark.parametrize("txn", [0, 1, 2, 3, -1])
def test_txns_that_did_not_lose_have_no_conflict(domain: Followed, txn: int) -> None:
    session = domain.open_session()
    domain.open_txn(session, size=2)
    domain.commit(session, 1)
    domain.abort(session, 2)

    assert domain.reads.conflict(txn) is None
    assert domain.reads.conflicts(0, 9) == []
