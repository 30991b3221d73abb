"""The page about the lineage of a table: the tables it was made from, and those made from it.

A commit names the tables that it only read, and those that it wrote. What a program read outside of
its txn is not in the log.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ledger.reads.port import TxnRow, VersionRow
from projections.web.pages.page import ROWS, Fields, PageView
from projections.web.pages.tables import table_of

LINKS_MAX: Final = 12
WIDTH: Final = 1088
LINE: Final = 30
TOP: Final = 34


class LineageLink(NamedTuple):
    """A table at one side of the picture, how many txns lead there, and its place."""

    table: int
    txns: int
    y: int


class LineagePicture(NamedTuple):
    """The tables left and right of one in the middle, at height `middle`."""

    sources: Sequence[LineageLink]
    targets: Sequence[LineageLink]
    middle: float
    height: int
    width: int = WIDTH


class MadeVersion(NamedTuple):
    """A version of the table, and the txn that made it from other tables."""

    version: VersionRow
    txn: TxnRow


def lineage(view: PageView) -> Fields:
    """Gather the last txns that made a table from others, and others from it."""
    head = table_of(view)
    table, newest = head["row"].table, head["version"]
    below = 0 if newest is None else newest.version + 1
    made = list(made_versions(view, view.reads.versions(table, 4 * ROWS, below=below)))
    reads = view.reads.table_reads(table, 4 * ROWS, below=view.at + 1)
    sources = Counter(source for version in made for source in version.txn.reads)
    targets = Counter(target for read in reads for target in read.wrote)
    return {
        **head,
        "picture": picture_of(sources, targets),
        "name_of": view.name_of,
        "made": made[:ROWS],
        "reads": reads[:ROWS],
        "sought": 4 * ROWS,
    }


def made_versions(view: PageView, versions: Sequence[VersionRow]) -> Iterator[MadeVersion]:
    """Yield the versions whose txns read other tables."""
    for version in versions:
        txn = view.reads.txn(version.txn) if version.txn else None
        if txn is not None and txn.reads:
            yield MadeVersion(version, txn)


def picture_of(sources: Counter[int], targets: Counter[int]) -> LineagePicture | None:
    """Return the picture of what leads to a table and from it, None for nothing."""
    lines = max(min(LINKS_MAX, len(side)) for side in (sources, targets))
    if not lines:
        return None
    height = TOP + LINE * lines + 10
    middle = TOP + LINE * lines / 2

    def placed(side: Counter[int]) -> list[LineageLink]:
        found = side.most_common(LINKS_MAX)
        top = middle - LINE * len(found) / 2
        return [
            LineageLink(table, txns, round(top + LINE * at + LINE / 2))
            for at, (table, txns) in enumerate(found)
        ]

    return LineagePicture(placed(sources), placed(targets), middle, height)
