"""Settling: after any commits in a row, each row is there once, and only changed rows are gone."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from ledger.core.commands import Footprint
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.settling import Settled, counted, groups, settle
from ledger.core.events.parts import CommittedPart
from ledger.core.limits import TRANSLATED_BYTES_MAX
from ledger.core.rows.bitmaps import bytes_of
from ledger.core.rows.changes import Marks, Moved, RowChanges
from tests.core.parts import NO_ROWS, footprint
from tests.core.rewritten_files import Model, Plan, packed
from tests.core.won import winners, won_at

COMMITS = 14
SEEDS = st.integers(0, 2**32)
PATIENT = settings(deadline=None, max_examples=150)


def must_lose(model: Model, plan: Plan) -> bool:
    """Return whether a row that a plan changes or read was changed or removed since.

    A row that it only copied may be gone: then it is gone in the copy as well.
    """
    alive = {*model.rows_of(model.live)}
    read = model.versions[plan.read_at]
    if any(model.live.get(path) != read[path] for path in plan.takes):
        return True
    return bool((plan.changes | plan.reads) - alive)


def may_lose(model: Model, plan: Plan) -> bool:
    """Return whether any commit since the read did not say where rows went."""
    return any(position > plan.read_at for position in model.untold)


@given(seed=SEEDS)
@PATIENT
def test_commits_lose_if_and_only_if_rows_meet(seed: int) -> None:
    model = Model.after(seed, 0)
    for _ in range(COMMITS):
        plan = model.plan()
        lost = model.judged(plan) is not None
        if must_lose(model, plan):
            assert lost
        elif plan.rearranges or not may_lose(model, plan):
            assert not lost
        if not lost:
            model.commit(plan)


@given(seed=SEEDS)
@PATIENT
def test_each_row_is_there_once_and_only_what_was_changed_is_gone(seed: int) -> None:
    model = Model.after(seed, 0)
    for _ in range(COMMITS):
        plan = model.plan()
        if model.judged(plan) is not None:
            continue
        before = {*model.rows_of(model.live)}
        model.commit(plan)
        written = {each for rows in plan.adds.values() for each in rows}
        new = set() if plan.rearranges else written - plan.copies

        assert Counter(model.rows_of(model.live)) == Counter(before - plan.changes | new)


def wins(*said: Footprint) -> TableWinners:
    """Return the winners of a table, at the positions from 1 on."""
    return winners((), *(won_at(position, each) for position, each in enumerate(said, 1)))


def marks(**rows: set[int]) -> Footprint:
    """Return a statement that marks rows of files."""
    marked = [Marks(path, packed(numbers)) for path, numbers in rows.items()]
    return footprint("DELETE", rows=NO_ROWS._replace(marks=marked))


def compacts(*moved: Moved) -> Footprint:
    """Return a rewrite that changes no row."""
    sources = [each.source for each in moved]
    rows = NO_ROWS._replace(moved=moved)
    return footprint("OPTIMIZE", remove=sources, data_change=False, rows=rows)


def test_marks_go_to_where_the_rows_are() -> None:
    won = wins(compacts(Moved("a", "c", 10, 4, packed({1}))))

    found = settle(won, marks(a={0, 2}, b={7}), 0, rearranges=False)
    assert found == Settled([Marks("c", packed({10, 11}))], ["a"])


def test_rows_that_a_rewrite_copied_are_marked_in_the_copy() -> None:
    won = wins(marks(a={2}))

    found = settle(won, compacts(Moved("a", "c", 10, 5, b"")), 0, rearranges=True)
    assert found == Settled([Marks("c", packed({12}))], [])


def test_a_group_whose_file_was_replaced_is_left_out_and_the_others_stay() -> None:
    won = wins(footprint("DELETE", remove=["b"]), marks(d={0}))
    said = compacts(*(Moved(each[0], each[1], 0, 3, b"") for each in ("ax", "bx", "dy")))

    found = settle(won, said, 0, rearranges=True)
    assert found == Settled([Marks("y", packed({0}))], ["a", "x", "b"])


def test_a_statement_whose_file_was_written_anew_changes_the_rows_where_they_are() -> None:
    """Its own copies of the other rows are dead from the first."""
    won = wins(compacts(Moved("a", "c", 0, 5, b"")))
    own = NO_ROWS._replace(
        marks=[Marks("a", packed({0}))], moved=[Moved("a", "z", 0, 4, packed({0}))]
    )

    found = settle(won, footprint("UPDATE", remove=["a"], rows=own), 0, rearranges=False)
    copies = Marks("z", packed({0, 1, 2, 3}))
    assert found == Settled([Marks("c", packed({0})), copies], ["a"])


def test_winners_before_the_read_do_not_matter() -> None:
    won = wins(compacts(Moved("a", "c", 10, 4, b"")), marks(c={10}))

    assert settle(won, marks(c={11}), 2, rearranges=False) == Settled([], [])


def test_rows_that_came_back_are_not_marked_again() -> None:
    """A table that is restored has a file again whose rows were marked before."""
    won = wins(marks(a={2}), footprint("RESTORE", remove=["a"], adds=["[]"]), marks(a={3}))

    found = settle(won, compacts(Moved("a", "c", 0, 5, b"")), 2, rearranges=True)
    assert found == Settled([Marks("c", packed({3}))], [])


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ([], []),
        (["ax"], ["ax"]),
        (["ax", "by"], ["ax", "by"]),
        (["ax", "bx"], ["abx"]),
        (["ax", "ay"], ["axy"]),
        (["ax", "by", "ay"], ["abxy"]),
        (["ax", "by", "cz", "ay", "cy"], ["abcxyz"]),
    ],
    ids=str,
)
def test_files_that_moves_connect_are_one_group(moved: list[str], expected: list[str]) -> None:
    rows = NO_ROWS._replace(moved=[Moved(each[0], each[1], 0, 1, b"") for each in moved])

    assert sorted("".join(sorted(group)) for group in groups(rows)) == expected


def test_what_is_left_out_does_not_count() -> None:
    said = footprint(
        "UPDATE",
        remove=["a", "b"],
        rows=RowChanges(
            [Marks("a", b"1"), Marks("b", b"2")],
            [],
            b"",
            [Moved("a", "x", 0, 1, b""), Moved("b", "y", 0, 1, b"")],
            [],
        ),
    )
    part = CommittedPart(1, 0, 0, 1, 0, [], footprint=said)
    late = part._replace(translated=[Marks("c", b"3")], left_out=["a"])

    assert counted(part, said) is said
    assert counted(late, said) == footprint(
        "UPDATE",
        remove=["b"],
        rows=RowChanges(
            [Marks("b", b"2"), Marks("c", b"3")], [], b"", [Moved("b", "y", 0, 1, b"")], []
        ),
    )


def test_a_commit_that_means_too_much_by_now_is_known() -> None:
    rows = bytes_of(BitMap(range(0, 1_000_000, 2)))
    many = [Marks(f"file {number}", rows) for number in range(TRANSLATED_BYTES_MAX // len(rows))]

    assert not Settled(many).is_too_large
    assert Settled([*many, *many[:1]]).is_too_large
    assert Settled(many, ["é" * len(rows)]).is_too_large
