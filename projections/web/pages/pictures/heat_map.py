"""The heat map of conflicts: how often one statement lost to another, and in which tables."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from ledger.reads.port import ConflictRow

KINDS_MAX: Final = 10
TABLES_MAX: Final = 10
CELL_WIDTH: Final = 96
CELL_HEIGHT: Final = 34
LEFT: Final = 170
TOP: Final = 44
STEPS: Final = 5
"""The shades of a cell, from few to many."""


class HeatCell(NamedTuple):
    """How often the statement of a row lost to that of a column; `heat` is 1 to STEPS."""

    loser: str
    winner: str
    number: int
    x: int
    y: int
    heat: int


class HeatMap(NamedTuple):
    """Cells with conflicts, the names of rows and columns with their places, and the size."""

    cells: Sequence[HeatCell]
    losers: Sequence[tuple[str, int]]
    winners: Sequence[tuple[str, int]]
    width: int
    height: int


class TableBar(NamedTuple):
    """A table, its conflicts, and their percentage of the first table's conflicts."""

    table: int
    number: int
    share: float


def heat_map(rows: Sequence[ConflictRow]) -> HeatMap | None:
    """Return how often which statement lost to which, None for no conflict."""
    pairs = Counter(
        (said(row.evidence.operation), said(row.evidence.winner.operation)) for row in rows
    )
    if not pairs:
        return None
    losers = most_frequent(Counter(loser for loser, _ in pairs.elements()))
    winners = most_frequent(Counter(winner for _, winner in pairs.elements()))
    most = max(pairs.values())
    cells = [
        HeatCell(
            loser,
            winner,
            number,
            LEFT + winners.index(winner) * CELL_WIDTH,
            TOP + losers.index(loser) * CELL_HEIGHT,
            1 + (STEPS - 1) * (number - 1) // max(1, most - 1),
        )
        for (loser, winner), number in sorted(pairs.items())
        if loser in losers and winner in winners
    ]
    return HeatMap(
        cells,
        [(name, TOP + at * CELL_HEIGHT) for at, name in enumerate(losers)],
        [(name, LEFT + at * CELL_WIDTH) for at, name in enumerate(winners)],
        LEFT + CELL_WIDTH * len(winners) + 2,
        TOP + CELL_HEIGHT * len(losers) + 2,
    )


def table_bars(rows: Sequence[ConflictRow]) -> Sequence[TableBar]:
    """Return the tables with most conflicts."""
    found = Counter(row.evidence.table for row in rows).most_common(TABLES_MAX)
    return [TableBar(table, number, 100 * number / found[0][1]) for table, number in found]


def most_frequent(names: Counter[str]) -> list[str]:
    """Return the most frequent names, in the order of the alphabet."""
    return sorted(name for name, _ in names.most_common(KINDS_MAX))


def said(operation: str) -> str:
    """Return an operation in words; a commit may name none."""
    return operation or "(none)"
