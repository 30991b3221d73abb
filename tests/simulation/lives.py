"""Lives of rows: what a table with marks holds after every commit, by the ids of its rows.

A commit is applied as if it ran alone at its place in the log. Where its rows are by then follows
from their ids, and not from what the sequencer says of its marks and its copies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.core.commands import Footprint
from ledger.core.conflicts.footprints import hashes
from ledger.core.rows.changes import AddedRows
from ledger.log.wire.file_list import AddFile
from tests.simulation.broken import must
from tests.simulation.lake import Lake, numbers_in


class Place(NamedTuple):
    """The place of a live row: a file, and the number of the row in it."""

    path: str
    number: int


@dataclass(slots=True)
class Life:
    """A row: the positions at which it was added and deleted (0 = it lives).

    `touched` are positions at which it was deleted, or put into another file without a word.
    """

    born: int
    died: int = 0
    touched: list[int] = field(default_factory=list)

    def is_live_at(self, position: int) -> bool:
        """Tell whether it was live at a position."""
        return self.born <= position and not 0 < self.died <= position


class Entered(NamedTuple):
    """A commit: its new rows, and what it tells of them by partition."""

    position: int
    is_blind: bool
    new: Sequence[int]
    told: Sequence[AddedRows]


class Change(NamedTuple):
    """One table of a commit as its writer declared it, whole.

    `rows` are the ids of the rows that it deletes, `read` of the ones that it matched and left.
    `copied` are the sources whose rows it says to be elsewhere.
    """

    position: int
    read_at: int
    footprint: Footprint
    adds: Sequence[AddFile]
    rows: Sequence[int]
    read: Sequence[int]
    removes: Sequence[str]
    copied: Sequence[str]

    @property
    def rearranges(self) -> bool:
        """Whether it changes no row."""
        return not self.footprint.data_change and not self.rows

    @property
    def is_blind(self) -> bool:
        """Whether it only adds rows and read nothing."""
        said = self.footprint
        by_row = said.rows is not None and bool(said.rows.scanned)
        return not (self.rows or self.read or self.removes or said.reads or said.read_files) and (
            not by_row and not said.not_blind
        )


def change_of(lake: Lake, position: int, read_at: int, chunks: Sequence[Footprint]) -> Change:
    """Return what the chunks of a footprint say together; their file lists are read elsewhere."""
    last = chunks[-1]
    whole = last._replace(
        reads=[text for each in chunks for text in each.reads],
        read_files=b"".join(each.read_files for each in chunks),
        adds=[text for each in chunks for text in each.adds],
        data_change=any(each.data_change for each in chunks),
        rows=last.rows
        and last.rows._replace(
            marks=[each for said in chunks if said.rows for each in said.rows.marks],
            read=[each for said in chunks if said.rows for each in said.rows.read],
            scanned=b"".join(said.rows.scanned for said in chunks if said.rows),
            moved=[each for said in chunks if said.rows for each in said.rows.moved],
            added=[each for said in chunks if said.rows for each in said.rows.added],
        ),
    )
    rows = whole.rows
    return Change(
        position,
        read_at,
        whole,
        (),
        ids_of(lake, rows.marks if rows else ()),
        ids_of(lake, rows.read if rows else ()),
        [lake.paths[each] for said in chunks for each in hashes(said.removes)],
        list(dict.fromkeys(each.source for each in (rows.moved if rows else ()))),
    )


def ids_of(lake: Lake, marks: Iterable[tuple[str, bytes]]) -> list[int]:
    """Return the ids of marked rows."""
    return [lake.files[path].rows[at] for path, data in marks for at in numbers_in(data)]


@dataclass(slots=True)
class RowTable:
    """One table with marks.

    `files` are the live files with the numbers of their deleted rows, `begun` and `gone` the
    positions at which each file came and went. `altered` are the positions of other changes.
    `shown` has the files after each commit. In an `astray` table a commit counted that was planned
    from a log that is lost: nothing more is known of it.
    """

    lake: Lake
    rows: dict[int, Life] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    files: dict[str, set[int]] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)
    commits: list[Entered] = field(default_factory=list)
    altered: list[int] = field(default_factory=list)
    shown: dict[int, Mapping[str, frozenset[int]]] = field(default_factory=dict)
    astray: bool = False

    def live_rows(self, path: str) -> list[int]:
        """Return the live rows of a file."""
        rows = self.lake.files[path].rows
        return [row for at, row in enumerate(rows) if self.places.get(row) == Place(path, at)]

    def had_row(self, path: str, number: int, position: int) -> bool:
        """Tell whether a row was live in a file at a position."""
        before = max((each for each in self.shown if each <= position), default=0)
        files = self.shown.get(before, {})
        return path in files and number not in files[path]

    def groups(self, change: Change) -> Iterator[set[str]]:
        """Yield the files that a rewrite connects, old and new ones together."""
        groups: list[set[str]] = []
        for moved in change.footprint.rows.moved if change.footprint.rows else ():
            pair = {moved.source, moved.target}
            touching = [group for group in groups if group & pair]
            groups = [group for group in groups if not group & pair]
            groups.append(pair.union(*touching))
        yield from groups

    def left_out(self, change: Change) -> set[str]:
        """Return the files of which a commit that counts now says nothing that still holds."""
        if change.rearranges:
            gone = {path for path in change.copied if path not in self.files}
            return {path for group in self.groups(change) if group & gone for path in group}
        rows = change.footprint.rows
        named = {*(marks.path for marks in rows.marks), *change.copied} if rows else set()
        return {path for path in named if path not in self.files}

    def apply(self, change: Change) -> None:
        """Run a commit at its place; raises BrokenError if a row would be lost."""
        out = self.left_out(change)
        removed = [path for path in change.removes if path not in out and path in self.files]
        said = {*change.copied, *(path for path, _ in change_marks(change))}
        unsaid = [row for path in removed if path not in said for row in self.live_rows(path)]
        leaving = [row for path in removed for row in self.live_rows(path)]
        for path in removed:
            del self.files[path]
            self.gone[path] = change.position
        new: list[int] = []
        for add in change.adds:
            if add.path not in out:
                new += self._add(change, add.path, set(change.rows))
        for row in change.rows:
            self._delete(change.position, row)
        for row in unsaid:
            self.rows[row].touched.append(change.position)
        for row in leaving:
            place = self.places.get(row)
            if place is not None and place.path not in self.files:
                must(row in unsaid, "no row is lost", f"row {row} at {change.position}")
                self._delete(change.position, row)
        self.commits.append(Entered(change.position, change.is_blind, new, told_of(change)))
        self.shown[change.position] = {path: frozenset(dead) for path, dead in self.files.items()}

    def _add(self, change: Change, path: str, dying: set[int]) -> list[int]:
        """Add a file with the rows that it holds; return the new ones."""
        dead = self.files[path] = set[int]()
        self.begun[path] = change.position
        new: list[int] = []
        for at, row in enumerate(self.lake.files[path].rows):
            place = self.places.get(row)
            if row not in self.rows:
                self.rows[row] = Life(change.position)
                self.places[row] = Place(path, at)
                new.append(row)
            elif place is None or place.path in self.files or row in dying:
                # The row was deleted, or a winner put it elsewhere: there it stays.
                dead.add(at)
            else:
                self.places[row] = Place(path, at)
        return new

    def _delete(self, position: int, row: int) -> None:
        place = self.places.pop(row)
        if place.path in self.files:
            self.files[place.path].add(place.number)
        self.rows[row].died = position
        self.rows[row].touched.append(position)


def change_marks(change: Change) -> Sequence[tuple[str, bytes]]:
    rows = change.footprint.rows
    return rows.marks if rows is not None else ()


def told_of(change: Change) -> Sequence[AddedRows]:
    """Return what a commit tells of its new rows, partition by partition."""
    rows = change.footprint.rows
    if rows is not None:
        return rows.added
    return [AddedRows(text, (), (), "", "") for text in dict.fromkeys(change.footprint.adds)]
