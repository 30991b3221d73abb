"""The pages about txns: the open ones, and one of them, as they were at a position."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.core.lists.valid_lists import ValidTxnList
from ledger.reads.port import TxnRow
from projections.web.pages.page import ROWS, Fields, NothingHereError, PageView


class OpenTxns(NamedTuple):
    """The oldest open txns of a position, and how many there are in `total`.

    Lists of the past leave out read-only txns: `has_read_only` is False there.
    """

    rows: Sequence[TxnRow]
    total: int
    has_read_only: bool

    @property
    def more(self) -> int:
        """How many open txns are not among the rows."""
        return max(0, self.total - len(self.rows))


def open_at(view: PageView, limit: int, above: int = 0) -> OpenTxns:
    """Return the oldest open txns as of the position of a page, only those above an id."""
    if not view.is_past and not above:
        total = view.reads.counts().open_txns
        return OpenTxns(view.reads.open_txns(limit), total, has_read_only=True)
    numbers = [each for each in valid_at(view).open if each > above]
    rows = (view.reads.txn(number) for number in numbers[:limit])
    found = [row for row in rows if row is not None]
    return OpenTxns(found, len(numbers), has_read_only=False)


def valid_at(view: PageView) -> ValidTxnList:
    """Return the valid txn list as of the position of a page."""
    return view.reads.valid_txns(view.list_at)


def open_txns(view: PageView) -> Fields:
    """Gather the open txns, oldest first, some at a time."""
    above = view.asked.number_or_none("above") or 0
    found = open_at(view, ROWS, above)
    last = found.rows[-1].txn if found.rows else 0
    ages = {row.txn: max(0, view.time_at(view.at) - row.opened_at) // 1000 for row in found.rows}
    return {
        "open": found,
        "ages": ages,
        "first": view.here() if above else None,
        "next": view.here(above=last) if found.more else None,
    }


def one_txn(view: PageView) -> Fields:
    """Gather one txn: its session, its times, its tables, and why it lost if it did."""
    number = view.number("txn")
    row = view.reads.txn(number)
    if row is None:
        raise NothingHereError(f"There is no txn {number} up to position {view.newest}.")
    is_ended = 0 < row.ended <= view.at
    return {
        "row": row,
        "is_opened": row.opened <= view.at,
        "state": row.status if is_ended else "open",
        "is_ended": is_ended,
        "parts": [(part, view.name_of(part.table)) for part in row.parts[:ROWS]],
        "reads": [(table, view.name_of(table)) for table in row.reads[:ROWS]] if is_ended else (),
        "more_parts": max(0, len(row.parts) - ROWS),
        "conflict": view.link("conflict", txn=number) if row.evidence else None,
    }
