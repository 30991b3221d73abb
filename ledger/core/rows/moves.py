"""Moves: the number that a row has after a rewrite, and the one that it had before.

A rewrite keeps the order of the rows that it moves. So a row of the source has in the target the
number of the moved rows before it, counted from the first one. The work is bounded by the runs of
neighbouring rows, and so by the bytes of the bitmaps, however many rows they name.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ledger.core.rows.bitmaps import RowSet, empty, rows_from, rows_in, runs_of
from ledger.core.rows.changes import Moved

# How many runs a pass takes in the time of one look-up in a set.
FEW: Final = 32


class Move(NamedTuple):
    """A `Moved` with its bitmap read: all rows of the source but `stayed` are in the target."""

    source: str
    target: str
    first: int
    rows: int
    stayed: RowSet

    @property
    def size(self) -> int:
        """How many rows the source has, deleted ones included."""
        return self.rows + len(self.stayed)

    def moved(self) -> RowSet:
        """Return the rows of the source that are in the target."""
        return rows_from(0, self.size) - self.stayed

    def landed(self) -> RowSet:
        """Return the rows of the target that come from the source."""
        return rows_from(self.first, self.rows)

    def forward(self, rows: RowSet) -> RowSet:
        """Return the numbers that rows of the source have in the target; others are left out."""
        going = (rows & rows_from(0, self.size)) - self.stayed
        if not going or not self.stayed:
            return going.shift(self.first)
        if is_few(going, self.stayed):
            return set_of(self.first + row - self.stayed.rank(row) for row in going)
        found, before = empty(), 0
        stayed = runs_of(self.stayed)
        stop, until = next(stayed)
        for start, last in runs_of(going):
            while stop < start:
                before += until - stop + 1
                stop, until = next(stayed, (self.size, 0))
            by = self.first - before
            found.add_range(start + by, last + by + 1)
        return found

    def back(self, rows: RowSet) -> RowSet:
        """Return the numbers that rows of the target had in the source; others are left out."""
        coming = rows & self.landed()
        if not coming or not self.stayed:
            return coming.shift(-self.first)
        moved = self.moved()
        if is_few(coming, self.stayed):
            return set_of(moved[row - self.first] for row in coming)
        found, copied = empty(), runs_of(moved)
        start_there, last_there = next(copied)
        by = start_there - self.first
        for first, last in runs_of(coming):
            start = first
            while start <= last:
                while last_there - by < start:
                    # The rows between two copied runs stayed.
                    by -= last_there + 1
                    start_there, last_there = next(copied)
                    by += start_there
                stop = min(last, last_there - by)
                found.add_range(start + by, stop + by + 1)
                start = stop + 1
        return found


def is_few(some: RowSet, others: RowSet) -> bool:
    """Return whether to look up each of some rows takes less than a pass over the runs of both."""
    return len(some) * FEW < len(others - others.shift(1))


def set_of(rows: Iterable[int]) -> RowSet:
    """Return numbers in any order as a bitmap."""
    found = empty()
    found.update(rows)
    return found


def move_of(moved: Moved) -> Move:
    """Return a move with its bitmap read."""
    return Move(moved.source, moved.target, moved.first, moved.rows, rows_in(moved.stayed))


def moves_by_source(moved: Iterable[Moved]) -> dict[str, list[Move]]:
    """Return moves by the path of their source; the rows of one file may go to several."""
    found: dict[str, list[Move]] = {}
    for each in moved:
        found.setdefault(each.source, []).append(move_of(each))
    return found
