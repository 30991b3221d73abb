"""The index of winners: what is entered, what is let go, and that nothing else is changed by it."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from pyroaring import BitMap

from ledger.core.commands import CoarseWrite
from ledger.core.conflicts.index import ConflictIndex
from ledger.core.conflicts.positions import SLACK, Positions
from ledger.core.conflicts.winners import WinningPart
from ledger.core.events.events import CommandRefused, TxnAborted, TxnCommitted
from ledger.core.events.parts import Limits
from ledger.core.evolve.form import restore_winners, winners_form
from ledger.core.invariants import assert_invariants, index_view
from ledger.core.limits import DEFAULT_LIMITS
from ledger.core.refusals import Reason
from ledger.core.rows.bitmaps import bytes_of
from ledger.core.rows.changes import AddedRows, Marks, Moved, RowChanges, ToldColumn
from tests.core.arena import BY_DAY, Arena, day
from tests.core.parts import NO_ROWS, footprint, part, partition, table_of
from tests.driver import Driver

SCHEMA = (("day", "int"),)
AS_TEXT = table_of(("day", "string"), ("delay", "int"), by=["day"])


def winner(position: int, *days: str | None, table: int = 1, **others: Any) -> WinningPart:
    """Return a part that won by files it added in some days."""
    said = footprint("MERGE", adds=[partition(each) for each in days], not_blind=True, **others)
    return WinningPart(
        position,
        table,
        txn=position,
        session=4,
        at=position,
        operation="MERGE",
        blind=False,
        rearranges=False,
        metadata="",
        replaces=False,
        protocol="",
        coarse=[],
        footprint=said,
    )


def index_of(*parts: WinningPart) -> ConflictIndex:
    index = ConflictIndex()
    for each in parts:
        index.record(each, SCHEMA)
    return index


def positions(*several: int) -> Positions:
    found = Positions()
    for each in several:
        found.add(each)
    return found


@pytest.mark.parametrize(
    ("after", "expected"), [(0, 3), (2, 3), (3, 5), (4, 5), (5, 9), (8, 9), (9, 0), (99, 0)]
)
def test_the_first_position_after_a_read_is_found_or_0(after: int, expected: int) -> None:
    assert positions(3, 5, 5, 9).after(after) == expected


@pytest.mark.parametrize("through", [0, 1, SLACK, SLACK + 1, SLACK * 2, SLACK * 4 - 1])
def test_positions_leave_oldest_first(through: int) -> None:
    found = positions(*range(1, SLACK * 4 + 1))

    assert not found.drop_through(through)
    assert list(found) == list(range(through + 1, SLACK * 4 + 1))
    assert found.after(0) == through + 1
    assert found.drop_through(SLACK * 4)


def test_an_index_whose_parts_have_all_left_is_as_empty_as_a_new_one() -> None:
    index = index_of(winner(3, "1", "2", remove=["a"]), winner(5, "1"), winner(6, None, table=2))
    index.prune(oldest_writer=6, entries_min=0, entries_max=100)

    assert index == ConflictIndex(floor=6)


PRUNED = [
    ("nobody is open", 9, 0, 100, [], 9),
    ("one that opened before all winners", 2, 0, 100, [3, 5, 9], 0),
    ("one that opened between", 5, 0, 100, [9], 5),
    ("enough entries stay for older reads", 9, 100, 100, [3, 5, 9], 0),
    ("a few entries stay for older reads", 9, 5, 100, [9], 5),
    ("all stay that the least number needs a part of", 9, 6, 100, [5, 9], 3),
    ("too many, although somebody may meet them", 2, 0, 10, [5, 9], 3),
    ("far too many", 2, 0, 5, [9], 5),
]


@pytest.mark.parametrize(
    ("oldest", "least", "most", "left", "floor"),
    [row[1:] for row in PRUNED],
    ids=[row[0] for row in PRUNED],
)
def test_pruning(oldest: int, least: int, most: int, left: list[int], floor: int) -> None:
    """Winners go oldest first, and the floor rises to the last that went; nothing is lost above."""
    index = index_of(winner(3, "1"), winner(5, "2"), winner(9, "1"))
    index.prune(oldest, least, most)

    assert [each.position for each in index.parts] == left
    assert index.floor == floor
    assert index.entries == 5 * len(left)
    assert index_view(index) == index_view(entered_anew(index))


def entered_anew(index: ConflictIndex) -> ConflictIndex:
    """Return an index of the same parts, entered one after another."""
    anew = ConflictIndex()
    restore_winners(anew, winners_form(index))
    return anew


def marks(**rows: int) -> RowChanges:
    """Return marks of one row in each of some files."""
    marked = [Marks(path, bytes_of(BitMap([row]))) for path, row in rows.items()]
    return NO_ROWS._replace(marks=marked)


def moves(source: str, target: str) -> RowChanges:
    return NO_ROWS._replace(moved=[Moved(source, target, 0, 9, b""), Moved("x", target, 9, 1, b"")])


def told(name: str, value: str) -> RowChanges:
    column = ToldColumn(name, "int")
    return NO_ROWS._replace(added=[AddedRows('["1"]', [column], [partition(value)], "", "")])


HISTORIES: list[tuple[str, Sequence[WinningPart]]] = [
    ("one partition again and again", [winner(at, "1") for at in range(1, 90)]),
    ("partitions in turn", [winner(at, str(at % 7), str(at % 3)) for at in range(1, 90)]),
    ("two spellings of a value", [winner(at, "01" if at % 2 else "1") for at in range(1, 9)]),
    ("NULL and what is no value", [winner(1, None, ""), winner(2, "x"), winner(3, None)]),
    ("files", [winner(at, remove=[str(at), str(at + 1)]) for at in range(1, 40)]),
    (
        "units",
        [
            winner(at, str(at))._replace(
                coarse=[day(str(at % 3)), day("x/y"), CoarseWrite("table", "", "delete")]
            )
            for at in range(1, 9)
        ],
    ),
    ("tables", [winner(at, "1", table=at % 3 + 1) for at in range(1, 20)]),
    ("rows of one file", [winner(at, rows=marks(a=at)) for at in range(1, 20)]),
    (
        "rows of files in turn",
        [winner(at, rows=marks(**{"abc"[at % 3]: at})) for at in range(1, 20)],
    ),
    (
        "rewrites",
        [winner(at, remove=[str(at)], rows=moves(str(at), str(at + 1))) for at in range(1, 20)],
    ),
    ("rows told by value", [winner(at, rows=told("id", str(at % 4))) for at in range(1, 20)]),
    ("columns told in turn", [winner(at, rows=told(f"c{at % 4}", "7")) for at in range(1, 20)]),
]


@pytest.mark.parametrize(
    "history", [row[1] for row in HISTORIES], ids=[row[0] for row in HISTORIES]
)
def test_as_if_entered_anew(history: Iterable[WinningPart]) -> None:
    """After each part that leaves the index is what its remaining parts make of it."""
    index = index_of(*history)
    for each in list(index.parts):
        index.prune(each.position, 0, 10_000)

        assert index_view(index) == index_view(entered_anew(index))
        assert index.entries == entered_anew(index).entries
    assert index.tables == {}


@pytest.mark.parametrize("text", ["1", "01", "+1"])
def test_partitions_by_value(text: str) -> None:
    index = index_of(winner(3, text))

    assert list(index.tables[1].partitions_with({0: frozenset({1})})) == [partition(text)]


# In a domain.


def limits(**others: int) -> Limits:
    """Return limits under which nothing is remembered without need."""
    return DEFAULT_LIMITS._replace(conflict_entries_min=0, **others)


class Domain(Driver):
    """A domain with a table, and a writer's session."""

    def __init__(self, **others: int) -> None:
        super().__init__(limits=limits(**others))
        self.ada = self.open_session("ada")
        self.table = self.create_table(self.ada, "flights", made=BY_DAY)

    def removes(self, path: str, *, read_at: int = 0) -> Any:
        """Let ada remove a file in a step of its own."""
        said = part(self.table, "DELETE", remove=[path], read_at=read_at or self.state.position)
        return self.commit(self.ada, 0, said).body


@pytest.mark.parametrize(
    ("kind", "remembered"),
    [("default", True), ("compaction", True), ("replicated", True), ("read_only", False)],
)
def test_who_keeps_winners(kind: Any, remembered: bool) -> None:  # noqa: FBT001
    """Winners stay as long as a txn that may write is open that began before them."""
    domain = Domain()
    txn = domain.open_txn(domain.ada, kind)
    domain.removes("a")

    assert bool(domain.state.winners.parts) == remembered
    domain.abort(domain.ada, txn)
    domain.commit(domain.ada, 0, part(domain.table))
    assert not domain.state.winners.parts
    assert_invariants(domain.state)


def test_below_the_floor_is_refused_at_it_is_judged() -> None:
    domain = Domain()
    read_at = domain.state.position
    domain.removes("a")
    floor = domain.state.winners.floor

    assert floor == domain.state.position
    assert domain.removes("a", read_at=read_at).reason == Reason.SNAPSHOT_TOO_OLD
    assert isinstance(domain.removes("b", read_at=floor), TxnCommitted)


def test_too_many_winners_are_forgotten_under_an_open_txn() -> None:
    """The bound on entries counts more than a slow txn, which is refused and not misjudged."""
    domain = Domain(conflict_entries_max=12)
    slow = domain.open_txn(domain.ada)
    for path in "abcdefgh":
        domain.removes(path)
    lost: Any = domain.commit(domain.ada, slow, part(domain.table, "DELETE", remove=["a"])).body

    assert isinstance(lost, CommandRefused)
    assert lost.reason == Reason.SNAPSHOT_TOO_OLD
    assert domain.state.winners.entries <= 12
    assert_invariants(domain.state)


@pytest.mark.parametrize("one_shot", [True, False])
def test_a_change_of_the_partition_columns_leaves(one_shot: bool) -> None:  # noqa: FBT001
    arena = Arena()
    arena.wins(arena.part("MERGE", adds=[partition("1")], remove=["a"], removes_in=['["01"]']))
    rewritten = arena.part("WRITE", adds=[partition("01")], remove=["b"], removes_in=['["01"]'])
    if one_shot:
        arena.alters(AS_TEXT)
        arena.wins(rewritten)
    else:
        arena.alters_with(AS_TEXT, rewritten)
    arena.wins(arena.part("MERGE", adds=[partition("1")], remove=["c"], removes_in=['["1"]']))
    assert_invariants(arena.state)
    index = arena.state.winners
    for each in list(index.parts):
        index.prune(each.position, 0, 10_000)

        assert index_view(index) == index_view(entered_anew(index))


def test_partitions_by_the_columns_of_now() -> None:
    """After a change of the columns only partitions that got files since are found by value.

    Whoever asks by value read later, so to type what was there before would be for nobody.
    """
    index = index_of(winner(3, "1", "2"))
    index.reshape(1, 5, (("day", "string"),))
    index.record(winner(7, "1"), ())
    found = index.tables[1]

    assert found.by_value == {(0, "1"): {partition("1"): None}}
    assert found.are_valued_at(5)
    assert not found.are_valued_at(4)


def test_read_before_the_partition_columns_changed() -> None:
    arena = Arena()
    arena.wins(arena.part("MERGE", adds=[partition("01")], not_blind=True))
    arena.alters(AS_TEXT)
    lost = arena.follows(arena.part(reads=['["=",["col","day"],["lit","1","int"]]']))

    assert isinstance(lost, TxnAborted)
    assert lost.evidence is not None
    assert lost.evidence.rule == "file_added"
