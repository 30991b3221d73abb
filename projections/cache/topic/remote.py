"""A cache process over rows that another host publishes: its entries, its store and its lists.

All of them use one copy of the rows, in turns. Such a host has no other rows: until the topic is
read to the end that it had at the start, each read gets an error with the reason.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import sample
from typing import Final

from ledger.core.refusals import Reason
from ledger.errors import UnknownTableError
from ledger.reads.errors import no_list
from ledger.reads.metadata import MetadataAnswer, Read, ReadAt
from ledger.reads.port import Identity, TableRow
from projections.cache.entries import rows_as_entries
from projections.cache.entries.rows import BYTES_MAX, RowEntries
from projections.cache.ports import EntryRead, Lists
from projections.cache.store import RowMetadataStore
from projections.cache.topic.published import PublishedRows
from projections.fold.lag import Backlog, Lag
from projections.reads import lookups
from projections.store.port import RowReader

REMEDY: Final = (
    "All published rows are read: check that the feeder with --publish runs, keeps up, and is "
    "the only one"
)


class PublishedEntries(RowEntries):
    """Entries of published rows; they answer no read before the rows have come."""

    remedy = REMEDY

    def __init__(self, rows: PublishedRows, *, bytes_max: int = BYTES_MAX) -> None:
        super().__init__(rows, bytes_max=bytes_max, turn=rows.turn, compare=rows.check_lineage)
        self._published = rows
        self._backlog = Backlog(rows.log)

    def is_loading(self) -> bool:
        return not self._published.has_come

    def check(self) -> None:
        """Open the topic, or take new records.

        Raises StoreVersionError, and LogRewrittenError once the log has lost events that were
        shown.
        """
        self._published.keep()
        self._published.check_lineage()

    def problem(self) -> str:
        return str(self._published.problem() or "")

    def read_many(self, wanted: Sequence[EntryRead]) -> list[MetadataAnswer]:
        if self.is_loading():
            return [MetadataAnswer(None, "store", self.position(), "loading")] * len(wanted)
        return super().read_many(wanted)

    def lag(self) -> Lag | None:
        """Return how far they are behind the log, None before there are any.

        A dropped record at the end of the log looks like an unpublished one.
        """
        if self.is_loading():
            return None
        mark = self._published.mark
        return self._backlog.measure(
            self._published.clock, mark.position, mark.offset, self.at_ms()
        )


class PublishedStore(RowMetadataStore):
    """The store over published rows; raises the reason while rows are missing."""

    def __init__(self, rows: PublishedRows) -> None:
        super().__init__(rows, turn=rows.turn)
        self._published = rows

    @contextmanager
    def _fresh(self) -> Iterator[RowReader]:
        with self._published.fresh() as rows:
            yield rows


class PublishedLists(Lists):
    """The newest lists, from published rows. Lists of a position need rows that are not published.

    Raises the reason if there are no rows.
    """

    def __init__(self, rows: PublishedRows) -> None:
        self._published = rows

    def identity(self) -> Identity:
        with self._published.fresh() as rows:
            return lookups.identity(rows)

    def position(self) -> int:
        with self._published.fresh() as rows:
            return lookups.position(rows)

    def read_at(self, read: ReadAt) -> Read:
        """Return a read with the list of now; raises LimitExceededError for a position."""
        if read.position is not None:
            raise no_list(
                "the list as of a position is not known here: this cache reads published rows, "
                "which hold the newest list only. Give the list itself, or ask a follower, or a "
                "cache with cache.source=events"
            )
        with self._published.fresh() as rows:
            row = table_read(rows, read)
            return newest_read(rows, row, read)

    def newest(self, tables: int) -> Sequence[Read]:
        with self._published.fresh() as rows:
            every = [row for row in lookups.every_table(rows) if not (row.dropped or row.creator)]
            chosen = sample(every, min(tables, len(every)))
            return [newest_read(rows, row, ReadAt(None, table_id=row.table)) for row in chosen]


def table_read(rows: RowReader, read: ReadAt) -> TableRow:
    """Return the table of a read; raises UnknownTableError."""
    number = read.table_id
    if number is None:
        name = read.catalog, read.table or ""
        number = rows_as_entries.table_named(rows, name, None)
    row = lookups.table(rows, number)
    if row is None:
        meant = read.table if read.table_id is None else read.table_id
        raise UnknownTableError(
            f"there is no table {meant} up to position {lookups.position(rows)}; see lakeledger "
            "table list where there is a follower",
            reason=Reason.UNKNOWN_TABLE.value,
        )
    return row


def newest_read(rows: RowReader, row: TableRow, read: ReadAt) -> Read:
    """Return a read of a table with its newest list, without a list if it is external."""
    is_managed = row.definition.kind == "managed"
    ids = rows_as_entries.ids_of(rows, row.table).listed() if is_managed else None
    table = row.table if read.table is None else read.table
    return Read(table, ids, row.table, read.what, catalog=read.catalog)
