"""The picture of a timeline: one lane for each txn, from its open to its end, over positions."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ledger.reads.port import HistoryRow, TxnRow
from projections.web.pages.page import PageView

LANES_MAX: Final = 24
LEFT: Final = 70
WIDTH: Final = 1010
LANE: Final = 18
TOP: Final = 24


class TxnLane(NamedTuple):
    """The lane of a txn in pixels: its line from `x` over `width` at `y`, and how it ended there.

    `begins` and `ends` say whether the open and the end of the txn lie in the picture.
    """

    row: TxnRow
    link: str
    y: int
    x: float
    width: float
    begins: bool
    ends: bool
    status: str


class LanePicture(NamedTuple):
    """Lanes with the positions at both ends; `left_out` txns have no lane."""

    lanes: Sequence[TxnLane]
    first: int
    last: int
    width: int
    height: int
    left_out: int


def lanes_of(view: PageView, events: Sequence[HistoryRow]) -> LanePicture | None:
    """Return the lanes of the txns that some events name, None without events."""
    if not events:
        return None
    first, last = events[0].position, events[-1].position
    numbers = sorted({number for event in events for number in (event.txn, *event.ended) if number})
    found = [view.reads.txn(number) for number in numbers[-LANES_MAX:]]
    step = WIDTH / max(1, last - first)
    lanes: list[TxnLane] = []
    for row in (each for each in found if each is not None and each.opened <= view.at):
        over = row.ended if 0 < row.ended <= last else last
        begin = max(first, row.opened)
        lanes.append(
            TxnLane(
                row,
                view.link("txn", txn=row.txn),
                TOP + LANE * len(lanes),
                LEFT + (begin - first) * step,
                max(3.0, (over - begin) * step),
                row.opened >= first,
                0 < row.ended <= last,
                row.status if 0 < row.ended <= view.at else "open",
            )
        )
    height = TOP + LANE * len(lanes) + 10
    width = LEFT + WIDTH + 3
    return LanePicture(lanes, first, last, width, height, len(numbers) - len(lanes))
