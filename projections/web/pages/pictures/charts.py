"""Charts in numbers: the history of a table, and the shares of its partitions."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ledger.reads.port import PartitionRow, VersionRow
from projections.web.pages.page import PageView

WIDTH: Final = 1088
HALF: Final = 70
BAR_LEAST: Final = 2.0


class VersionBar(NamedTuple):
    """The bar of a version: files added go up from the middle, files removed go down."""

    row: VersionRow
    link: str
    x: float
    width: float
    up: float
    down: float


class HistoryChart(NamedTuple):
    """Bars of versions, oldest first; `most` files make a whole bar."""

    bars: Sequence[VersionBar]
    most: int
    width: int = WIDTH


class PartitionBar(NamedTuple):
    """A partition, and its share of the largest one in percent."""

    row: PartitionRow
    share: float


def history_chart(view: PageView, rows: Sequence[VersionRow]) -> HistoryChart | None:
    """Return the chart of some versions, newest first as they are read; None for no version."""
    if not rows:
        return None
    most = max(1, *(max(each.adds, each.removes) for each in rows))
    step = WIDTH / len(rows)
    bars = [
        VersionBar(
            row,
            view.link("diff", first=row.position - 1, at=row.position),
            number * step + 1,
            max(1.0, min(40.0, step - 2)),
            height(row.adds, most),
            height(row.removes, most),
        )
        for number, row in enumerate(reversed(rows))
    ]
    return HistoryChart(bars, most)


def height(files: int, most: int) -> float:
    """Return the height of a bar; a version with few files among many is still seen."""
    return max(BAR_LEAST, files * HALF / most) if files else 0.0


def share_bars(rows: Sequence[PartitionRow]) -> Sequence[PartitionBar]:
    """Return partitions with their shares of the largest one."""
    most = max((row.size for row in rows), default=0) or 1
    return [PartitionBar(row, 100 * row.size / most) for row in rows]
