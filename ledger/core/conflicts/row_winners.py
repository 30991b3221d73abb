"""Row winners: the marks and the moves of the winners of one table, by the hash of a path.

A row is marked once in its life, so the union of all marks of a file decides most questions by one
look, however many winners there are.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter

from ledger.core.conflicts.footprints import path_hash
from ledger.core.rows.bitmaps import RowSet, empty, rows_in
from ledger.core.rows.changes import RowChanges, ToldColumn
from ledger.core.rows.moves import Move, moves_by_source


@dataclass(slots=True)
class FileMarks:
    """The marks of one file, each with its position, oldest first, and the union of them.

    The union also keeps rows of marks that have left: such rows are gone as well.
    """

    marks: list[tuple[int, RowSet]] = field(default_factory=list)
    union: RowSet = field(default_factory=empty, compare=False)

    def add(self, position: int, rows: RowSet) -> None:
        """Add the newest mark."""
        self.marks.append((position, rows))
        self.union |= rows

    def touched(self, rows: RowSet | None, since: int) -> tuple[int, RowSet]:
        """Return the first position after `since` whose mark meets rows, and all rows marked then.

        `rows` None = any. The position is 0 without such a mark. A file may come back with
        rows that were marked before `since`, so only later marks count.
        """
        if rows is not None and not self.union.intersect(rows):
            return 0, empty()
        later = self.marks[bisect_right(self.marks, since, key=itemgetter(0)) :]
        dead = empty().union(*(marked for _, marked in later))
        if rows is not None:
            dead &= rows
        meeting = (position for position, marked in later if marked.intersect(dead))
        return next(meeting, 0), dead

    def at(self, position: int) -> RowSet:
        """Return the rows that the winner at a position marked."""
        found = empty()
        for marked_at, marked in reversed(self.marks):
            if marked_at == position:
                found |= marked
            elif marked_at < position:
                break
        return found


@dataclass(slots=True)
class RowWinners:
    """The marked files and the moves of a table, and the columns that its new rows tell."""

    files: dict[bytes, FileMarks] = field(default_factory=dict)
    moves: dict[bytes, dict[int, list[Move]]] = field(default_factory=dict)
    columns: Counter[ToldColumn] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        """Return whether any winner marked or moved rows."""
        return bool(self.files or self.moves)

    def enter(self, position: int, rows: RowChanges) -> None:
        """Enter the rows of a winner."""
        for path, marked in rows.marks:
            self.files.setdefault(path_hash(path), FileMarks()).add(position, rows_in(marked))
        for source, moves in moves_by_source(rows.moved).items():
            self.moves.setdefault(path_hash(source), {})[position] = moves
        for each in rows.added:
            self.columns.update(each.columns)

    def leave(self, position: int, rows: RowChanges) -> None:
        """Remove the rows of the oldest winner."""
        for path in dict.fromkeys(path for path, _ in rows.marks):
            file = self.files[key := path_hash(path)]
            file.marks = [mark for mark in file.marks if mark[0] > position]
            if not file.marks:
                del self.files[key]
        for source in dict.fromkeys(moved.source for moved in rows.moved):
            moves = self.moves[key := path_hash(source)]
            moves.pop(position, None)
            if not moves:
                del self.moves[key]
        for each in rows.added:
            self.columns.subtract(each.columns)
        self.columns = +self.columns

    def moves_at(self, file: bytes, position: int) -> list[Move]:
        """Return where a winner put the rows of a file, () if it did not say."""
        return self.moves.get(file, {}).get(position, [])
