"""Moves: a row keeps its place among the moved rows, there and back, over any chain of files."""

from collections.abc import Sequence
from time import process_time
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from ledger.core.rows.bitmaps import bytes_of
from ledger.core.rows.changes import Moved
from ledger.core.rows.moves import Move, move_of, moves_by_source

REWRITES = 5
ROWS_MAX = 40


class Case(NamedTuple):
    """A file of numbered rows, the ones that stayed, and where the others are in the target."""

    size: int
    stayed: frozenset[int]
    first: int

    @property
    def move(self) -> Move:
        rows = self.size - len(self.stayed)
        return Move("a", "b", self.first, rows, BitMap(self.stayed))

    @property
    def places(self) -> dict[int, int]:
        """The place in the target of each row that moved."""
        going = [row for row in range(self.size) if row not in self.stayed]
        return {row: self.first + at for at, row in enumerate(going)}


CASES = st.integers(0, ROWS_MAX).flatmap(
    lambda size: st.builds(
        Case,
        st.just(size),
        st.frozensets(st.integers(0, size - 1)) if size else st.just(frozenset()),
        st.integers(0, 9),
    )
)
ASKED = st.sets(st.integers(0, 2 * ROWS_MAX))


@given(case=CASES, asked=ASKED)
def test_forward_and_back(case: Case, asked: set[int]) -> None:
    places = case.places
    source_of = {place: row for row, place in places.items()}

    there = {places[row] for row in asked if row in places}
    assert set(case.move.forward(BitMap(asked))) == there
    back = {source_of[place] for place in asked if place in source_of}
    assert set(case.move.back(BitMap(asked))) == back


@given(case=CASES)
def test_what_moved_and_where_it_landed(case: Case) -> None:
    assert case.move.size == case.size
    assert set(case.move.moved()) == set(case.places)
    assert set(case.move.landed()) == set(case.places.values())


@pytest.mark.parametrize("asked", [1, 40, 5_000, 35_000], ids=lambda count: f"{count} asked")
@pytest.mark.parametrize("stayed", [0, 1, 40, 5_000, 35_000], ids=lambda count: f"{count} stayed")
def test_each_way_to_count_gives_the_same_places(stayed: int, asked: int) -> None:
    """Few rows are looked up, and for many one pass goes over the runs."""
    case = Case(70_000, frozenset(range(0, 70_000, 70_000 // stayed)) if stayed else frozenset(), 3)
    rows, places = BitMap(range(0, 70_000, 70_000 // asked)), case.places
    there = BitMap(places[row] for row in rows if row in places)

    assert case.move.forward(rows) == there
    assert case.move.back(there) == rows - BitMap(case.stayed)


class Rewrite(NamedTuple):
    """A rewrite of one file: the rows that it left out, and how many rows of others come before."""

    left_out: frozenset[int]
    before: int


@given(
    size=st.integers(1, ROWS_MAX),
    rewrites=st.lists(
        st.builds(Rewrite, st.frozensets(st.integers(0, ROWS_MAX), max_size=9), st.integers(0, 5)),
        min_size=REWRITES,
        max_size=REWRITES,
    ),
    asked=ASKED,
)
def test_a_row_stays_the_same_row_over_any_chain(
    size: int, rewrites: Sequence[Rewrite], asked: set[int]
) -> None:
    files = [list(range(size))]
    rows, kept = BitMap(asked), [BitMap(asked)]
    moves = []
    for number, (left_out, before) in enumerate(rewrites):
        source = files[-1]
        stayed = BitMap(row for row in left_out if row < len(source))
        copied = [each for at, each in enumerate(source) if at not in stayed]
        files.append([*(-1 - number for _ in range(before)), *copied])
        moves.append(Move("a", "b", before, len(copied), stayed))
        rows = moves[-1].forward(rows)
        kept.append(rows)

    known = [{files[0][row] for row in kept[0] if row < size}]
    known += [{file[row] for row in found} for file, found in zip(files[1:], kept[1:], strict=True)]
    assert known[-1] == known[0] & set(files[-1])
    for move, source, target in zip(reversed(moves), files[-2::-1], files[:0:-1], strict=True):
        back = move.back(rows)
        assert [source[row] for row in back] == [target[row] for row in rows]
        rows = back
    assert {files[0][row] for row in rows} == known[-1]


def test_a_move_is_read_from_its_record() -> None:
    moved = Moved("a", "b", 5, 3, bytes_of(BitMap([1])))

    assert move_of(moved) == Move("a", "b", 5, 3, BitMap([1]))
    assert move_of(moved._replace(stayed=b"")).stayed == BitMap()


def test_rows_of_one_file_may_go_to_several() -> None:
    to_b = Moved("a", "b", 0, 1, bytes_of(BitMap([1])))
    to_c = Moved("a", "c", 0, 1, bytes_of(BitMap([0])))
    other = Moved("d", "b", 1, 1, b"")

    found = moves_by_source([to_b, other, to_c])
    assert {source: [move.target for move in moves] for source, moves in found.items()} == {
        "a": ["b", "c"],
        "d": ["b"],
    }


@pytest.mark.parametrize("asked", [1_000, 100_000], ids=lambda count: f"{count} rows")
def test_a_row_costs_microseconds(asked: int) -> None:
    """A leader that is silent for a second counts as dead."""
    stayed = BitMap(range(0, 1_000_000, 10))
    move = Move("a", "b", 0, 900_000, stayed)
    rows = BitMap(range(5, 1_000_000, 1_000_000 // asked))
    began = process_time()
    back = move.back(move.forward(rows))

    assert process_time() - began < 1
    assert back == rows - stayed


def test_few_bytes_cost_little_however_many_rows_they_name() -> None:
    """A hostile bitmap of 100 kB names half of all rows in long runs."""
    half = 1 << 30
    move = Move("a", "b", 0, half - 1, BitMap(range(half)))
    began = process_time()
    there = move.forward(BitMap(range(2 * half)))

    assert move.back(there) == BitMap(range(half, 2 * half - 1))
    assert process_time() - began < 2
