"""Placing: where a statement puts the rows that it copies, and what it states of new ones."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ledger.core.rows.bitmaps import RowSet, bytes_of, rows_from
from ledger.core.rows.changes import Moved
from ledger.files.rows.told_values import ToldValues


class CopiedRows(NamedTuple):
    """Rows of files that a statement copies as they are, in the order of these files.

    `sources` are their paths, with how many of the rows are theirs.
    """

    sources: Sequence[tuple[str, int]]
    rows: Any


class Placed(NamedTuple):
    """Where copied rows of a file are: the next `rows` of them lie in `target` from `first` on."""

    source: str
    target: str
    first: int
    rows: int


@dataclass(slots=True)
class Placing:
    """What a statement notes of the rows that it writes: where copies are, and what is new.

    In a table whose rows are ordered no copy keeps its place: then all rows count as new.
    """

    told: ToldValues
    placed: list[Placed] = field(default_factory=list)

    def place(self, sources: Sequence[tuple[str, int]], target: str, first: int) -> None:
        """Note that copied rows are in `target`, from row `first` on."""
        for source, rows in sources:
            if rows:
                self.placed.append(Placed(source, target, first, rows))
                first += rows

    def rename(self, path: str, target: str) -> None:
        """Note that copies are in `target`, not in the file of a path."""
        self.placed = [
            place._replace(target=target) if place.target == path else place
            for place in self.placed
        ]


class CopiedFile(NamedTuple):
    """A file that gives way to copies: how many rows it has, and the ones that are not copied."""

    size: int
    stayed: RowSet


def moved_rows(placed: Iterable[Placed], sources: dict[str, CopiedFile]) -> Iterator[Moved]:
    """Yield where the rows of each source are, if all of them were placed.

    A source of which no row is left has none in any of the new files.
    """
    by_source: dict[str, list[Placed]] = {path: [] for path in sources}
    for each in placed:
        by_source[each.source].append(each)
    target = next((places[0].target for places in by_source.values() if places), "")
    for path, places in by_source.items():
        size, stayed = sources[path]
        every = rows_from(0, size)
        copied, start = every - stayed, 0
        if not copied and target:
            yield Moved(path, target, 0, 0, bytes_of(every))
        if sum(each.rows for each in places) != len(copied):
            continue
        for each in places:
            here = copied[start : start + each.rows]
            start += each.rows
            yield Moved(path, each.target, each.first, each.rows, bytes_of(every - here))
