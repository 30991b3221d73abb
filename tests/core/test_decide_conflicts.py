"""First committer wins on coarse writes (rule c1): who meets whom, who is judged, what is said."""

from typing import Any

import pytest

from ledger.core.commands import CoarseWrite, Operation, TableWrite, TxnType
from ledger.core.events.events import TxnAborted, TxnCommitted
from ledger.core.events.parts import AbortedPart, Evidence, Side
from ledger.core.refusals import Reason
from tests.driver import Driver

DAY_1 = CoarseWrite("partition", "day=1", "update")
DAY_2 = CoarseWrite("partition", "day=2", "update")
ROWS = CoarseWrite("unpartitioned", "", "update")
TABLE = CoarseWrite("table", "", "update")


class Race:
    """Two txns of two sessions that read before either commits; `first` has not committed yet."""

    def __init__(self, *, first: TxnType = "default", second: TxnType = "default") -> None:
        self.driver = Driver()
        self.ada, self.bob = self.driver.open_session("ada"), self.driver.open_session("bob")
        self.table = self.driver.create_table(self.ada, "flights")
        self.first = self.driver.open_txn(self.ada, first)
        self.second = self.driver.open_txn(self.bob, second)
        self.read_at = self.driver.state.position

    def part(self, *writes: CoarseWrite, read_at: int = 0) -> TableWrite:
        return TableWrite(self.table, read_at, writes)

    def win(self, *writes: CoarseWrite) -> int:
        won = self.driver.commit(self.ada, self.first, self.part(*writes))
        assert isinstance(won.body, TxnCommitted), "the first committer lost"
        return won.control.position

    def follow(self, *writes: CoarseWrite, read_at: int = 0) -> Any:
        part = self.part(*writes, read_at=read_at)
        return self.driver.commit(self.bob, self.second, part).body


@pytest.mark.parametrize("unit", [DAY_1, ROWS, TABLE], ids=["partition", "rows", "table"])
@pytest.mark.parametrize(
    ("winner", "loser", "expected"),
    [
        ("insert", "insert", TxnCommitted),
        ("insert", "update", TxnCommitted),
        ("insert", "delete", TxnCommitted),
        ("update", "insert", TxnCommitted),
        ("update", "update", TxnAborted),
        ("update", "delete", TxnAborted),
        ("delete", "insert", TxnCommitted),
        ("delete", "update", TxnAborted),
        ("delete", "delete", TxnAborted),
    ],
)
def test_operations(unit: CoarseWrite, winner: Operation, loser: Operation, expected: type) -> None:
    """Of two that update or delete in one unit the first committer wins; inserts meet nothing."""
    race = Race()
    race.win(unit._replace(operation=winner))

    assert isinstance(race.follow(unit._replace(operation=loser)), expected)


@pytest.mark.parametrize(
    ("winner", "loser", "expected"),
    [
        (DAY_1, DAY_1, TxnAborted),
        (DAY_1, DAY_2, TxnCommitted),
        (DAY_1, ROWS, TxnCommitted),
        (DAY_1, TABLE, TxnAborted),
        (ROWS, DAY_1, TxnCommitted),
        (ROWS, ROWS, TxnAborted),
        (ROWS, TABLE, TxnAborted),
        (TABLE, DAY_1, TxnAborted),
        (TABLE, ROWS, TxnAborted),
        (TABLE, TABLE, TxnAborted),
    ],
)
def test_units(winner: CoarseWrite, loser: CoarseWrite, expected: type) -> None:
    """Units meet themselves, and the whole table meets every unit of it."""
    race = Race()
    race.win(winner)

    assert isinstance(race.follow(loser), expected)


@pytest.mark.parametrize("kind", ["replicated", "compaction", "soft_delete"])
@pytest.mark.parametrize("place", ["first", "second"])
def test_replication_compaction_and_soft_deletes_are_not_judged(place: str, kind: TxnType) -> None:
    race = Race(**{place: kind})
    race.win(TABLE)

    assert isinstance(race.follow(TABLE), TxnCommitted)


def test_mixed_writes_are_judged_one_by_one() -> None:
    race = Race()
    race.win(DAY_2)
    answer = race.follow(DAY_1._replace(operation="insert"), DAY_1, DAY_2)

    assert answer.evidence.unit == "partition day=2"


@pytest.mark.parametrize(
    ("behind_winner", "expected"), [(-1, TxnAborted), (0, TxnCommitted), (1, TxnCommitted)]
)
def test_read_at_moves_the_base(behind_winner: int, expected: type) -> None:
    race = Race()
    won = race.win(TABLE)
    race.driver.open_txn(race.ada)

    assert isinstance(race.follow(TABLE, read_at=won + behind_winner), expected)


def test_read_at_before_the_snapshot_counts() -> None:
    race = Race()
    race.win(TABLE)
    race.driver.abort(race.bob, race.second)
    race.second = race.driver.open_txn(race.bob)

    assert isinstance(race.follow(TABLE, read_at=race.read_at), TxnAborted)


def test_age_does_not_matter() -> None:
    race = Race()
    race.first, race.second = race.second, race.first
    race.ada, race.bob = race.bob, race.ada
    race.win(ROWS)

    assert isinstance(race.follow(ROWS), TxnAborted)


def test_loser_is_told_all_about_the_winner() -> None:
    race = Race()
    won = race.win(DAY_1._replace(operation="delete"))
    answer = race.follow(DAY_1)
    evidence = Evidence(
        rule="coarse_write_write",
        exception="ConcurrentDeleteDelete",
        table=race.table,
        unit="partition day=1",
        operation="update",
        read_at=race.read_at,
        winner=Side(
            race.first, won, "delete", "ada@host etl", race.driver.events[won - 1].control.at
        ),
        remedy=answer.evidence.remedy,
        level="WriteSerializable",
    )
    part = AbortedPart(race.table, 0, 0, wrote=True)
    attempted = [race.part(DAY_1)._replace(writes=[DAY_1])]

    assert answer == TxnAborted(
        "conflict", one_shot=False, parts=[part], evidence=evidence, attempted=attempted
    )
    assert evidence.remedy


def test_loser_is_aborted_for_good() -> None:
    race = Race()
    race.win(ROWS)
    race.follow(ROWS)

    assert race.follow(ROWS).reason == Reason.TXN_NOT_OPEN
    assert race.driver.state.txns.status(race.second)[0] == "aborted"


def test_a_table_of_which_the_loser_only_holds_a_write_id_holds_no_data_of_it() -> None:
    race = Race()
    other = race.driver.create_table(race.ada, "planes")
    race.driver.allocate(race.bob, [race.second], [race.table, other])
    race.win(ROWS)

    assert race.follow(ROWS).parts == [
        AbortedPart(race.table, 1, 0, wrote=True),
        AbortedPart(other, 1, 0, wrote=False),
    ]


def test_one_shot_loser_never_was() -> None:
    race = Race()
    race.win(ROWS)
    following, given = race.driver.state.txns.next_txn, race.driver.state.tables.by_id[race.table]
    lost = race.driver.commit(race.bob, 0, race.part(ROWS, read_at=race.read_at))

    assert isinstance(lost.body, TxnAborted)
    assert (lost.control.txn, lost.body.one_shot, lost.body.parts) == (0, True, [])
    assert (race.driver.state.txns.next_txn, given.last_write_id) == (following, 1)
    assert not race.driver.state.txns.aborted


def test_one_shot_commit_wins() -> None:
    race = Race()
    race.driver.commit(race.ada, 0, race.part(ROWS, read_at=race.read_at))

    assert isinstance(race.follow(ROWS), TxnAborted)
