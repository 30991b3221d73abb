"""Tables, files and receipts as HTML, for notebooks. Every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

SHOWN_MAX: Final = 20


def table_of(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], total: int = 0
) -> str:
    """Return a title over a table of the first rows; `total` counts the others too."""
    left = max(total, len(rows)) - SHOWN_MAX
    more = f"<p>and {left} more</p>" if left > 0 else ""
    body = "".join(cells("td", each) for each in rows[:SHOWN_MAX])
    return f"<div><p>{escape(title)}</p><table>{cells('th', heads)}{body}</table>{more}</div>"


def cells(tag: str, values: Iterable[object]) -> str:
    """Return one line of a table."""
    inner = "".join(f"<{tag}>{escape(str(each))}</{tag}>" for each in values)
    return f"<tr>{inner}</tr>"
