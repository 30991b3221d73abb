"""A cache process over rows that another host publishes: its entries, its store and its lists.

All of them use one copy of the rows, in turns. Such a host has no other rows: until the topic is
read to the end that it had at the start, each read gets an error with the reason.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from random import sample
from threading import RLock
from typing import Final

import structlog

from ledger.clock import Clock, SystemClock
from ledger.core.refusals import Reason
from ledger.errors import LedgerError, LogUnavailableError, UnknownTableError
from ledger.log.port import Log
from ledger.reads.errors import no_list
from ledger.reads.metadata import MetadataAnswer, Read, ReadAt
from ledger.reads.port import Identity, TableRow
from projections.cache import rows_as_entries
from projections.cache.ports import EntryRead, Lists
from projections.cache.published import PublishedRows
from projections.cache.rows import BYTES_MAX, RowEntries
from projections.cache.store import RowMetadataStore
from projections.errors import (
    CacheTopicMissingError,
    NothingPublishedError,
    PublishedLoadingError,
)
from projections.fold.lag import Backlog, Lag
from projections.reads import lookups
from projections.store.port import RowReader

REMEDY: Final = (
    "All published rows are read: check that the feeder with --publish runs, keeps up, and is "
    "the only one"
)

log_lines = structlog.get_logger("lakeledger.cache")


class PublishedSite:
    """The rows of the cache topic of a log, which may not exist yet.

    Hold `turn` while using `rows`.
    """

    def __init__(self, log: Log, *, clock: Clock | None = None) -> None:
        self.log = log
        self.clock = clock or SystemClock()
        self.rows = PublishedRows(log, clock=self.clock)
        self.turn = RLock()
        self._refused: LedgerError | None = None
        self._told = ""

    def keep(self) -> None:
        """Open the topic, or take new records; called by one thread, several times a second.

        Raises StoreVersionError.
        """
        if not self.rows.is_open:
            self._open()
        with self.turn:
            self.rows.refresh()
        self._tell(self.problem())

    def missing(self) -> LedgerError | None:
        """Return why there are no rows to answer from, None if there are."""
        rows = self.rows
        if rows.has_come:
            return None
        if not rows.is_open:
            return self._refused or PublishedLoadingError(0, 0)
        if rows.trouble is None and rows.next_offset >= rows.end:
            return NothingPublishedError(rows.next_offset)
        return rows.trouble or PublishedLoadingError(rows.next_offset, rows.end)

    def problem(self) -> LedgerError | None:
        """Return why rows do not come, or must not be shown, None if all is well."""
        return self.missing() or self.rows.lost or self.rows.trouble

    def check_lineage(self) -> None:
        """Raise LogRewrittenError once the log has lost events that the rows had shown."""
        if self.rows.lost is not None:
            raise copy(self.rows.lost) from self.rows.lost

    def fresh(self) -> RowReader:
        """Return the newest rows, to a caller that holds `turn`; raises the reason if absent."""
        missing = self.missing()
        if missing is not None:
            raise copy(missing) from missing
        self.rows.refresh()
        self.check_lineage()
        return self.rows

    def _open(self) -> None:
        try:
            self.rows.open()
        except (LogUnavailableError, CacheTopicMissingError) as refused:
            self._refused = refused

    def _tell(self, problem: LedgerError | None) -> None:
        """Log a problem that differs from the one before, except that rows are being read."""
        kind = type(problem).__name__
        if kind != self._told and not isinstance(problem, PublishedLoadingError | None):
            log_lines.warning("no rows come", error=kind, why=str(problem))
        self._told = kind


class PublishedEntries(RowEntries):
    """Entries of published rows; they answer no read before the rows have come."""

    remedy = REMEDY

    def __init__(self, site: PublishedSite, *, bytes_max: int = BYTES_MAX) -> None:
        compare = site.rows.compare
        super().__init__(site.rows, bytes_max=bytes_max, turn=site.turn, compare=compare)
        self._site = site
        self._backlog = Backlog(site.log)

    def is_loading(self) -> bool:
        """Return whether the rows have not come yet."""
        return not self._site.rows.has_come

    def check(self) -> None:
        """Open the topic, or take new records.

        Raises StoreVersionError, and LogRewrittenError once the log has lost events that were
        shown.
        """
        self._site.keep()
        self._site.check_lineage()

    def problem(self) -> str:
        """Return why no rows come."""
        return str(self._site.problem() or "")

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
        mark = self._site.rows.mark
        return self._backlog.measure(self._site.clock, mark.position, mark.offset, self.at_ms())


class PublishedStore(RowMetadataStore):
    """The store over published rows; raises the reason while rows are missing."""

    def __init__(self, site: PublishedSite) -> None:
        super().__init__(site.rows, turn=site.turn)
        self._site = site

    @contextmanager
    def _fresh(self) -> Iterator[RowReader]:
        with self._turn:
            yield self._site.fresh()


class PublishedLists(Lists):
    """The newest lists, from published rows. Lists of a position need rows that are not published.

    Raises the reason if there are no rows.
    """

    def __init__(self, site: PublishedSite) -> None:
        self._site = site

    def identity(self) -> Identity:
        with self._site.turn:
            return lookups.identity(self._site.fresh())

    def position(self) -> int:
        with self._site.turn:
            return lookups.position(self._site.fresh())

    def read_at(self, read: ReadAt) -> Read:
        """Return a read with the list of now; raises LimitExceededError for a position."""
        if read.position is not None:
            raise no_list(
                "the list as of a position is not known here: this cache reads published rows, "
                "which hold the newest list only. Give the list itself, or ask a follower, or a "
                "cache with cache.source=events"
            )
        with self._site.turn:
            rows = self._site.fresh()
            row = table_read(rows, read)
            return newest_read(rows, row, read)

    def newest(self, tables: int) -> Sequence[Read]:
        with self._site.turn:
            rows = self._site.fresh()
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
