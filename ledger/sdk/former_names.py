"""Former names: whether a name may have meant another table when a txn opened.

Rows say what a table is called now, and the log which were renamed since, but not what they were
called before. So what is found out is whether there can have been another table, not which.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ledger.core.state.tables import name_key
from ledger.reads.port import HistoryRow, Reads, TableRow

EVENTS_MAX: Final = 10_000
PAGE: Final = 1_000


class Moved(NamedTuple):
    """The tables that may have been renamed since, and those that were dropped."""

    renamed: set[int]
    dropped: set[int]


class FormerNames:
    """Names as of the open of a txn, at a position that `reads` have reached.

    More than `events_max` events since are not looked through.
    """

    def __init__(
        self, reads: Reads, opened: int, txn: int, *, events_max: int = EVENTS_MAX
    ) -> None:
        self._reads = reads
        self._opened = opened
        self._txn = txn
        self._events_max = events_max

    def is_doubtful(self, table: int) -> bool:
        """Tell whether another table may have had the name that this table has now."""
        row = self._reads.table(table)
        if row is None or row.changed <= self._opened:
            return False
        moved, was_there = self._moved(), self._was_there(table)
        if moved is None:
            # Of a table that was there its last change has to do: most are altered, not renamed.
            return not was_there or row.operation == "rename"
        if was_there and table not in moved.renamed:
            return False
        others = (moved.renamed | moved.dropped) - {table}
        return any(self._may_have_had(row, each, moved) for each in others)

    def _may_have_had(self, row: TableRow, other: int, moved: Moved) -> bool:
        """Tell whether another table may have had the name of a row."""
        found = self._reads.table(other)
        if found is None or found.catalog != row.catalog or not self._was_there(other):
            return False
        had_it_last = name_key(found.catalog, found.name) == name_key(row.catalog, row.name)
        return max(found.changed, found.dropped) > self._opened and (
            had_it_last or other in moved.renamed
        )

    def _was_there(self, table: int) -> bool:
        return self._reads.definition(table, self._opened) is not None

    def _moved(self) -> Moved | None:
        """Return the tables that moved since, None if that is too much to look through."""
        if self._reads.position() - self._opened > self._events_max:
            return None
        moved = Moved(set(), set())
        for event in self._events():
            if event.type == "TableRenamed":
                moved.renamed.update(event.tables)
            elif event.type == "TableDropped":
                moved.dropped.update(event.tables)
            elif event.type == "TxnCommitted" and 0 < event.txn < self._txn:
                moved.renamed.update(self._changed_by(event.txn))
        return moved

    def _changed_by(self, txn: int) -> Iterator[int]:
        """Yield the tables changed by a txn, which may have said how before the other opened."""
        row = self._reads.txn(txn)
        yield from (part.table for part in row.parts if part.metadata_events) if row else ()

    def _events(self) -> Iterator[HistoryRow]:
        after = self._opened
        while found := self._reads.history(after, PAGE):
            yield from found
            after = found[-1].position
