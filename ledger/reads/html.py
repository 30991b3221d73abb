"""Tables, files and receipts as HTML, for notebooks. Every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ledger.reads.rows import FileRow, TableRow

SHOWN_MAX: Final = 20
FILE_HEADS: Final = ("path", "partition", "bytes", "version")


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


def of_table(row: "TableRow") -> str:
    """Return a table: its name, version and columns."""
    definition = row.definition
    by = ", ".join(definition.partition_columns)
    title = f"Table {row.name} ({row.table}), version {row.version}, {definition.layout}"
    title += f", at {definition.location}" if definition.location else ""
    title += f", partitioned by {by}" if by else ""
    columns = [
        (each.name, each.type, "" if each.nullable else "NOT NULL") for each in definition.columns
    ]
    return table_of(title, ("column", "type", ""), columns)


def of_files(title: str, files: Sequence["FileRow"]) -> str:
    """Return the first files of a read."""
    rows = [
        (each.path, ", ".join(map(str, each.partition)), each.size, each.version)
        for each in files[:SHOWN_MAX]
    ]
    return table_of(title, FILE_HEADS, rows, len(files))
