"""Settling: what a commit means at its place in the log, given the rewrites since its read.

Its marks go to where the rows are now. Rows that it copied into new files, and that winners marked
meanwhile, are marked there. A rewrite that changes no row gives way, group by group, where a winner
replaced one of the files. So a rewrite never loses a statement, and no statement loses to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ledger.core.commands import Footprint
from ledger.core.conflicts.following import Followed, follow, union_of
from ledger.core.conflicts.footprints import hashes, path_hash
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.row_changes import NO_ROWS
from ledger.core.events.parts import CommittedPart
from ledger.core.limits import TRANSLATED_BYTES_MAX
from ledger.core.rows.bitmaps import RowSet, bytes_of, empty, rows_in
from ledger.core.rows.changes import Marks, RowChanges
from ledger.core.rows.moves import moves_by_source


class Settled(NamedTuple):
    """The marks of a commit that are not in its footprint, and the files that do not count."""

    translated: Sequence[Marks] = ()
    left_out: Sequence[str] = ()

    @property
    def is_too_large(self) -> bool:
        """Whether it does not fit the record of the commit."""
        texts = [*self.left_out, *(marks.path for marks in self.translated)]
        size = sum(len(text.encode(errors="surrogateescape")) for text in texts)
        return size + sum(len(marks.rows) for marks in self.translated) > TRANSLATED_BYTES_MAX


def settle(
    winners: TableWinners, footprint: Footprint, read_at: int, *, rearranges: bool
) -> Settled:
    """Return what a part that conflicts with no winner means after them."""
    return Settling(winners, footprint, read_at).settled(rearranges=rearranges)


class Settling:
    """One part on its way through the winners since its read."""

    def __init__(self, winners: TableWinners, footprint: Footprint, read_at: int) -> None:
        self._winners, self._footprint, self._read_at = winners, footprint, read_at
        self._rows = footprint.rows or NO_ROWS
        self._marks: dict[str, RowSet] = {}
        self._out: dict[str, None] = {}

    def settled(self, *, rearranges: bool) -> Settled:
        """Return the marks to add, and the files to leave out."""
        sources = moves_by_source(self._rows.moved)
        if rearranges:
            for group in groups(self._rows):
                if any(self._is_replaced(path) for path in group if path in sources):
                    self._out.update(dict.fromkeys(group))
        for path, marked in self._rows.marks:
            self._place(path, self._follow(path_hash(path), rows_in(marked)))
        for source, moves in sources.items():
            if rearranges and source in self._out:
                continue
            found = self._follow(path_hash(source), union_of(moves))
            if found.replaced:
                # The rows stay where a winner put them, or later commits would lose sight of them.
                # The copies of this commit are dead from the first.
                self._out[source] = None
            for move in moves:
                dead = move.landed() if found.replaced else move.forward(found.dead)
                self._mark(move.target, dead)
        translated = [Marks(path, bytes_of(rows)) for path, rows in sorted(self._marks.items())]
        return Settled(translated, list(self._out))

    def _follow(self, file: bytes, rows: RowSet | None) -> Followed:
        return follow(self._winners, file, rows, self._read_at)

    def _place(self, path: str, found: Followed) -> None:
        if found.replaced:
            self._out[path] = None
            for place, rows in found.places.items():
                self._mark(place, rows)

    def _mark(self, path: str, rows: RowSet) -> None:
        if rows:
            self._marks[path] = self._marks.get(path, empty()) | rows

    def _is_replaced(self, path: str) -> bool:
        return bool(self._winners.first_removal(path_hash(path), self._read_at))


def groups(rows: RowChanges) -> Iterator[Sequence[str]]:
    """Yield the files that moves connect, sources and targets together."""
    joined: dict[str, dict[str, None]] = {}
    for moved in rows.moved:
        group = joined.get(moved.source, {moved.source: None})
        other = joined.get(moved.target, {moved.target: None})
        if group is other:
            continue
        if len(group) < len(other):
            # Very many blocks may go into one file: each joins the many, not the many each.
            group, other = other, group
        group.update(other)
        joined.update(dict.fromkeys(other, group))
        joined[moved.source] = joined[moved.target] = group
    seen: set[int] = set()
    for group in joined.values():
        if id(group) not in seen:
            seen.add(id(group))
            yield list(group)


def counted(part: CommittedPart, footprint: Footprint) -> Footprint:
    """Return the footprint of a commit as it counts at its place in the log."""
    if not (part.translated or part.left_out):
        return footprint
    rows, out = footprint.rows or NO_ROWS, set(part.left_out)
    kept = rows._replace(
        marks=[*(marks for marks in rows.marks if marks.path not in out), *part.translated],
        moved=[each for each in rows.moved if not {each.source, each.target} & out],
    )
    return footprint._replace(rows=kept, removes=without(footprint.removes, out))


def without(removes: bytes, paths: Iterable[str]) -> bytes:
    """Return path hashes without the ones of some paths."""
    gone = {path_hash(path) for path in paths}
    kept = (file for file in hashes(removes) if file not in gone)
    return b"".join(kept) if gone else removes
