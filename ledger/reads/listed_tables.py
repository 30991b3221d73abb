"""The list of tables with the sums of their files: by a pattern and in an order.

The command line and the pages show the same list. Its cost follows the tables, not their files.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from ledger.reads.rows import TableRow, VersionRow


class TableOrder(StrEnum):
    """What a list of tables is sorted by: names rise, all else falls from the largest."""

    NAME = "name"
    ROWS = "rows"
    FILES = "files"
    BYTES = "bytes"
    CHANGED = "changed"


class ListedTable(NamedTuple):
    """A table and its last version; a sum is None if the ledger does not know it."""

    row: TableRow
    version: VersionRow | None

    @property
    def name(self) -> str:
        """The name with its catalog."""
        return f"{self.row.catalog}.{self.row.name}"

    @property
    def files(self) -> int | None:
        """The number of live files."""
        return None if self._known is None else self._known.live_files

    @property
    def size(self) -> int | None:
        """The bytes of the live files."""
        return None if self._known is None else self._known.live_size

    @property
    def rows(self) -> int | None:
        """The rows of the live files, by their statistics."""
        return None if self._known is None else self._known.live_rows

    @property
    def changed(self) -> int:
        """The time of the last version in milliseconds, 0 without one."""
        return 0 if self.version is None else self.version.at

    @property
    def _known(self) -> VersionRow | None:
        """The version with sums; views have no files, and `directories` name none."""
        definition = self.row.definition
        is_listed = definition.layout != "directories" and definition.kind != "view"
        return self.version if is_listed else None


def listed_tables(
    rows: Iterable[TableRow],
    versions: Iterable[VersionRow],
    *,
    like: str = "",
    order: TableOrder = TableOrder.NAME,
) -> Sequence[ListedTable]:
    """Return tables with their last versions, those whose name is `like` a pattern, in an order.

    A `*` of a pattern is any text, and `|` parts patterns; letters have no case. A pattern may
    begin with the catalog. What is not known comes last.
    """
    by_table = {version.table: version for version in versions}
    lines = (ListedTable(row, by_table.get(row.table)) for row in rows)
    pattern = pattern_of(like)
    kept = [
        line
        for line in lines
        if pattern is None or pattern.fullmatch(line.row.name) or pattern.fullmatch(line.name)
    ]
    kept.sort(key=lambda line: (line.name.lower(), line.row.table))
    if order is not TableOrder.NAME:
        kept.sort(key=lambda line: place_of(line, order), reverse=True)
    return kept


def pattern_of(like: str) -> re.Pattern[str] | None:
    """Return what a name must match, None for any name."""
    if not like:
        return None
    parts = (".*".join(map(re.escape, part.strip().split("*"))) for part in like.split("|"))
    return re.compile("|".join(parts), re.IGNORECASE | re.DOTALL)


def place_of(line: ListedTable, order: TableOrder) -> int:
    """Return the number by which a table stands in an order, -1 for one that is not known."""
    numbers: dict[TableOrder, Any] = {
        TableOrder.ROWS: line.rows,
        TableOrder.FILES: line.files,
        TableOrder.BYTES: line.size,
        TableOrder.CHANGED: line.changed,
    }
    found = numbers[order]
    return -1 if found is None else int(found)
