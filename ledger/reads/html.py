"""Tables, files and receipts as HTML, for notebooks. Every text is escaped."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final, TypeVar

from ledger.reads.amounts import amount

SHOWN_MAX: Final = 20

Row = TypeVar("Row")


class ShownList(list[Row]):
    """A list of rows that a notebook shows as a table.

    `cells` returns what stands under each of the `heads`.
    """

    def __init__(
        self,
        what: str,
        rows: Iterable[Row],
        heads: Sequence[str],
        cells: Callable[[Row], Sequence[object]],
    ) -> None:
        super().__init__(rows)
        self._what, self._heads, self._cells = what, heads, cells

    def _repr_html_(self) -> str:
        rows = [self._cells(row) for row in self[:SHOWN_MAX]]
        return table_of(amount(len(self), self._what), self._heads, rows, len(self))


def table_of(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], total: int = 0
) -> str:
    """Return a title over a table of the first rows; `total` counts the others too."""
    left = max(total, len(rows)) - SHOWN_MAX
    more = f"<p>and {left} more</p>" if left > 0 else ""
    body = "".join(cells("td", row) for row in rows[:SHOWN_MAX])
    return f"<div><p>{escape(title)}</p><table>{cells('th', heads)}{body}</table>{more}</div>"


def cells(tag: str, values: Iterable[object]) -> str:
    """Return one line of a table."""
    inner = "".join(f"<{tag}>{escape(str(value))}</{tag}>" for value in values)
    return f"<tr>{inner}</tr>"
