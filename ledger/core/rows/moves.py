"""Moves: the number that a row has after a rewrite, and the one that it had before.

A rewrite keeps the order of the rows that it moves. So a row of the source has in the target the
number of the moved rows before it, counted from the first one.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ledger.core.commands import Moved
from ledger.core.rows.bitmaps import RowSet, empty, rows_from, rows_in

Numbered = Callable[[int], int]


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
        if len(going) <= len(self.stayed):
            return self._each(going, lambda row: self.first + row - self.stayed.rank(row))
        found, start = empty(), 0
        for before, stop in enumerate([*self.stayed, self.size]):
            found |= (going & rows_from(start, stop - start)).shift(self.first - before)
            start = stop + 1
        return found

    def back(self, rows: RowSet) -> RowSet:
        """Return the numbers that rows of the target had in the source; others are left out."""
        coming = rows & self.landed()
        if not coming or not self.stayed:
            return coming.shift(-self.first)
        if len(coming) <= len(self.stayed):
            stayed = self.stayed
            # How many stayed rows lie before the row that is number `place` among the moved ones.
            spaces = range(len(stayed))

            def source_of(row: int) -> int:
                place = row - self.first
                return place + bisect_right(spaces, place, key=lambda at: stayed[at] - at)

            return self._each(coming, source_of)
        found, start = empty(), self.first
        for before, stop in enumerate([*self.stayed, self.size]):
            after = self.first + stop - before
            found |= (coming & rows_from(start, after - start)).shift(before - self.first)
            start = after
        return found

    @staticmethod
    def _each(rows: RowSet, numbered: Numbered) -> RowSet:
        found = empty()
        found.update(map(numbered, rows))
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
