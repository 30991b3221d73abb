"""Following: what became of the rows of a file, as a model knows that holds each row by its id."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from ledger.core.conflicts.following import Followed, follow
from ledger.core.conflicts.footprints import path_hash, won
from ledger.core.limits import REWRITES_MAX, ROWS_TRANSLATED_MAX
from ledger.core.rows.changes import Marks, Moved
from tests.core.parts import NO_ROWS, footprint
from tests.core.rewritten_files import Model, packed
from tests.core.test_settling import compacts, marks, wins

COMMITS = 12
NOTHING = Followed(BitMap(), 0, 0, 0, {})


@given(seed=st.integers(0, 2**32), data=st.data())
@settings(deadline=None, max_examples=200)
def test_rows_are_followed_to_where_they_are(seed: int, data: st.DataObject) -> None:
    model = Model.after(seed, COMMITS)
    read_at = data.draw(st.integers(0, model.position))
    if any(position > read_at for position in model.untold):
        return
    places, read = model.places(), model.versions[read_at]
    for path, dead in read.items():
        rows = {at: each for at, each in enumerate(model.files[path]) if at not in dead}
        gone = {at: model.changed[each] for at, each in rows.items() if each in model.changed}
        now: dict[str, set[int]] = {}
        for file, place in (places[each] for each in rows.values() if each in places):
            now.setdefault(file, set()).add(place)

        found = follow(model.winners, path_hash(path), BitMap(rows), read_at)
        assert set(found.dead) == set(gone)
        assert found.marked == min(gone.values(), default=0)
        assert bool(found.replaced) == (path not in model.live)
        assert found.gone == 0
        there = {file: set(numbers) for file, numbers in found.places.items()}
        assert there == (now if found.replaced else {})
        whole = follow(model.winners, path_hash(path), None, read_at)
        assert not found.marked or 0 < whole.marked <= found.marked


@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=100)
def test_rows_that_went_with_their_file_are_gone(seed: int) -> None:
    model = Model.after(seed, COMMITS)
    for read_at, read in enumerate(model.versions):
        for path, dead in read.items():
            rows = {at: each for at, each in enumerate(model.files[path]) if at not in dead}
            lost = [model.removed[each] for each in rows.values() if each in model.removed]
            found = follow(model.winners, path_hash(path), BitMap(rows), read_at)

            assert not lost or found.gone or found.dead
            assert not found.gone or any(position > read_at for position in model.untold)


CHAIN = [compacts(Moved(str(at), str(at + 1), 1, 999, b"")) for at in range(REWRITES_MAX + 1)]


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (1, NOTHING._replace(replaced=2, places={str(REWRITES_MAX + 1): BitMap([REWRITES_MAX])})),
        (0, NOTHING._replace(replaced=1, gone=REWRITES_MAX + 1)),
    ],
    ids=["as many rewrites as are followed", "one more"],
)
def test_a_row_is_followed_through_so_many_rewrites(since: int, expected: Followed) -> None:
    found = follow(wins(*CHAIN), path_hash(str(since)), BitMap([0]), since)

    assert found == expected


def test_more_rows_than_can_be_followed_are_gone() -> None:
    many = BitMap(range(0, 3 * ROWS_TRANSLATED_MAX, 2))
    moved = Moved("a", "b", 0, 1_000_000, packed(many))
    winners = wins(footprint("UPDATE", remove=["a"], rows=NO_ROWS._replace(moved=[moved])))

    assert follow(winners, path_hash("a"), many.shift(1), 0).gone == 1
    assert follow(winners, path_hash("a"), None, 0).gone == 1
    assert follow(winners, path_hash("a"), BitMap([1]), 0).places == {"b": BitMap([0])}


def test_rows_of_one_file_are_found_in_several() -> None:
    split = [Moved("a", "b", 0, 2, packed({2, 3})), Moved("a", "c", 5, 2, packed({0, 1}))]
    winners = wins(compacts(*split), marks(c={6}))

    found = follow(winners, path_hash("a"), BitMap(range(4)), 0)
    assert found == Followed(BitMap([3]), 2, 1, 0, {"b": BitMap([0, 1]), "c": BitMap([5])})


def test_rows_that_a_rewrite_left_out_were_changed_by_it() -> None:
    winners = wins(compacts(Moved("a", "b", 0, 2, packed({1}))))

    assert follow(winners, path_hash("a"), BitMap([1, 2]), 0) == Followed(
        BitMap([1]), 1, 1, 0, {"b": BitMap([1])}
    )


def test_marks_that_are_too_large_for_the_index_count_as_a_removal() -> None:
    large = footprint(
        "DELETE", rows=NO_ROWS._replace(marks=[Marks("a", packed(range(0, 600_000, 2)))])
    )
    assert follow(wins(large), path_hash("a"), BitMap([1]), 0) == NOTHING
    assert follow(wins(won(large)), path_hash("a"), BitMap([1]), 0).gone == 1
