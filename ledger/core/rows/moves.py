"""Moves: the number that a row has after a rewrite, and the one that it had before.

A rewrite keeps the order of the rows that it moves. So a row of the source has in the target the
number of the moved rows before it, counted from the first one.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ledger.core.commands import Moved
from ledger.core.rows.bitmaps import RowSet, empty, rows_from, rows_in

# How many rows a pass takes in the time of one look-up in a set.
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
        if is_few(self.stayed, going):
            return self._shifted(going, back=False)
        return set_of(self._passed(going, back=False))

    def back(self, rows: RowSet) -> RowSet:
        """Return the numbers that rows of the target had in the source; others are left out."""
        coming = rows & self.landed()
        if not coming or not self.stayed:
            return coming.shift(-self.first)
        if is_few(coming, self.stayed):
            moved = self.moved()
            return set_of(moved[row - self.first] for row in coming)
        if is_few(self.stayed, coming):
            return self._shifted(coming, back=True)
        return set_of(self._passed(coming, back=True))

    def _shifted(self, rows: RowSet, *, back: bool) -> RowSet:
        """Return the numbers of many rows on the other side, a shift for each stayed row."""
        found, start = empty(), self.first if back else 0
        for before, stop in enumerate([*self.stayed, self.size]):
            by = before - self.first
            end = stop - by if back else stop
            found |= (rows & rows_from(start, end - start)).shift(by if back else -by)
            start = end if back else stop + 1
        return found

    def _passed(self, rows: RowSet, *, back: bool) -> Iterator[int]:
        """Yield the numbers of rows on the other side, in one pass over them and stayed rows."""
        stayed, size, by = iter(self.stayed), self.size, -self.first
        stop = next(stayed, size)
        for row in rows:
            while (row + by if back else row) >= stop:
                by += 1
                stop = next(stayed, size)
            yield row + by if back else row - by


def is_few(some: RowSet, others: RowSet) -> bool:
    """Return whether to look up each of some rows takes less than a pass over both sets."""
    return len(some) * FEW < len(others)


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
