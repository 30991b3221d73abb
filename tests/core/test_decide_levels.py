"""At which level a commit is judged, and what its parts are given: row ids and times."""

from typing import Any

import pytest

from ledger.core.commands import Property, TableWrite
from ledger.core.events.events import TxnAborted, TxnCommitted
from ledger.core.refusals import Reason
from tests.core.arena import APPEND, BY_DAY, Arena, day, serializable, statement
from tests.core.parts import part, partition, table_of

TRACKED = table_of(("day", "int"), by=["day"], delta__enableRowTracking="true")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("", TxnCommitted),
        ("SnapshotIsolation", TxnCommitted),
        ("WriteSerializable", TxnCommitted),
        ("Serializable", TxnAborted),
        ("serializable", TxnAborted),
    ],
)
def test_request_raises_the_level(asked: str, expected: type) -> None:
    arena = Arena()
    arena.wins(arena.part(**APPEND))
    update = TableWrite(arena.table, arena.base, [], statement("UPDATE"))

    assert isinstance(arena.follows(update, level=asked), expected)


@pytest.mark.parametrize(("asked", "expected"), [("", TxnCommitted), ("Serializable", TxnAborted)])
def test_a_table_only_read_is_checked_under_serializable(asked: str, expected: type) -> None:
    arena = Arena()
    arena.wins(arena.part(**APPEND))
    lost = arena.follows(arena.part("", reads_whole=True), part(arena.other), level=asked)

    assert isinstance(lost, expected)


@pytest.mark.parametrize("asked", ["", "WriteSerializable", "Serializable"])
def test_request_keeps_the_downgrade(asked: str) -> None:
    arena = Arena(serializable())
    arena.wins(arena.part("MERGE", not_blind=True, **APPEND))
    moves = TableWrite(arena.table, arena.base, [], statement("OPTIMIZE"))

    assert isinstance(arena.follows(moves, level=asked), TxnCommitted)


@pytest.mark.parametrize("txn", ["replicated", "compaction", "soft_delete"])
def test_only_a_replicated_commit_is_not_judged_by_its_files(txn: Any) -> None:
    arena = Arena()
    number = arena.open_txn(arena.ada, txn)
    arena.wins(arena.part("DELETE", remove=["a"]))
    body = arena.commit(arena.ada, number, arena.part("DELETE", remove=["a"])).body

    assert isinstance(body, TxnCommitted) == (txn == "replicated")


@pytest.mark.parametrize(
    ("txn", "expected"),
    [
        ("default", TxnAborted),
        ("replicated", TxnCommitted),
        ("compaction", TxnCommitted),
        ("soft_delete", TxnCommitted),
    ],
)
def test_coarse_writes_that_are_not_judged_meet_nothing(txn: Any, expected: type) -> None:
    """They pass a change of the table as well: whether it is remembered still makes no odds."""
    arena = Arena()
    number = arena.open_txn(arena.ada, txn)
    arena.alters(table_of(("day", "int"), ("more", "int"), by=["day"]))
    body = arena.commit(arena.ada, number, arena.coarse(day("1"))).body

    assert isinstance(body, expected)


def test_row_ids_follow_each_other() -> None:
    arena = Arena(TRACKED)
    firsts = [
        arena.wins(part(arena.table, adds=[partition("1")], rows_added=rows)).body
        for rows in (3, 0, 4, 5)
    ]

    assert [body.parts[0].first_row_id for body in firsts] == [0, -1, 3, 7]  # type: ignore[union-attr]
    assert arena.state.tables.by_id[arena.table].next_row_id == 12


def test_rows_are_not_tracked_unless_asked() -> None:
    arena = Arena()
    body: Any = arena.wins(part(arena.table, adds=[partition("1")], rows_added=3)).body

    assert body.parts[0].first_row_id == -1
    assert arena.state.tables.by_id[arena.table].next_row_id == 0


@pytest.mark.parametrize("rows", [-1, -(2**63)])
def test_rows_are_not_taken_back(rows: int) -> None:
    """A negative number of rows, which would give row ids twice, is refused."""
    arena = Arena(TRACKED)
    arena.wins(part(arena.table, adds=[partition("1")], rows_added=3))
    body: Any = arena.follows(part(arena.table, adds=[partition("1")], rows_added=rows))

    assert getattr(body, "reason", "") == Reason.COMMAND_INVALID


def test_two_commits_at_one_instant_or_of_a_clock_that_went_back_still_have_rising_times() -> None:
    arena = Arena()
    bodies: list[Any] = []
    for ahead in (0, 0, -50_000, 20):
        arena.now += ahead - 7
        bodies.append(arena.wins(part(arena.table)).body)
    times = [body.parts[0].committed_at for body in bodies]

    assert times == sorted(set(times))
    assert times[1] == times[0] + 1
    assert arena.state.tables.by_id[arena.table].committed_at == times[-1]


@pytest.mark.parametrize("key", ["delta.isolationLevel", "delta.isolationlevel"])
@pytest.mark.parametrize("value", ["Serializable", "SERIALIZABLE"])
def test_the_level_of_a_table_is_known_in_any_case_of_letters(key: str, value: str) -> None:
    arena = Arena(BY_DAY._replace(properties=[Property(key, value)]))
    arena.wins(arena.part(**APPEND))

    assert isinstance(arena.follows(arena.does("UPDATE")), TxnAborted)
