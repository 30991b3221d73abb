"""The parts of a cache: entries that answer from memory, and a store behind them.

Entries follow the log in this process (`following`) or the rows of another process (`rows`). Both
have a bound on their bytes, and evict the tables that were not read for the longest time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any, Protocol

from ledger.core.lists.valid_lists import ValidTxnList
from ledger.errors import ReaderBehindError
from ledger.reads.lineage import Gap
from ledger.reads.metadata import MetadataAnswer
from ledger.reads.port import Identity
from projections.cache.fold import Stored, Wanted
from projections.cache.held import HeldTables
from projections.cache.ids import ReaderIds
from projections.cache.rows_as_entries import stored
from projections.fold.lag import Lag
from projections.reads import lookups, snapshots
from projections.store.port import RowReader


class Entries(Protocol):
    """The entries of a cache; threads may share them. `tables` are the held tables."""

    tables: HeldTables

    def identity(self) -> Identity | None:
        """Return which ledger the entries are of, None while that is not known."""
        ...

    def advance(self, timeout_s: float, beyond: int | None = None) -> None:
        """Catch up, waiting up to `timeout_s` for something new.

        `beyond` is the position of the answers that were not enough: more may have come since.
        """
        ...

    def position(self) -> int:
        """Return the position the entries have reached."""
        ...

    def at_ms(self) -> int:
        """Return the time of the event at that position."""
        ...

    def gaps(self) -> Sequence[Gap]:
        """Return the gaps that cuts left in the log, as far as it was read."""
        ...

    def read_many(self, wanted: Sequence[Wanted]) -> list[MetadataAnswer]:
        """Return answers as of one position; an answer without a value must come from the store.

        Raises LogRewrittenError once the log is known to have lost events of earlier answers.
        """
        ...

    def fill(self, wanted: Wanted, found: Stored) -> bool:
        """Keep the store's answer; return whether it was kept."""
        ...

    def held(self) -> Sequence[Wanted]:
        """Return a read of each table whose objects are held, with its newest list."""
        ...

    def lengths(self) -> Mapping[int, int]:
        """Return how many versions are held of each table."""
        ...

    def aged(self) -> Sequence[int]:
        """Return the tables with history that a cut may drop."""
        ...

    def cut(self, floors: Mapping[int, ReaderIds]) -> int:
        """Drop history that only readers need that do not see all of a table's floor.

        Returns how many versions were dropped.
        """
        ...

    def close(self) -> None:
        """Release the source of the entries."""
        ...


class ServedEntries(Entries, Protocol):
    """The entries of a process, which load while it answers already.

    `remedy` names the process to check when they are behind the log, "" if there is no other one.
    """

    remedy: str

    def is_loading(self) -> bool:
        """Return whether they answer no read yet; raises the error that ended them."""
        ...

    def check(self) -> None:
        """Do periodic work, several times a second; raises the error that ended them."""
        ...

    def problem(self) -> str:
        """Return why they do not follow the log, "" if they do."""
        ...

    def lag(self) -> Lag | None:
        """Return how far they are behind the log, None before they have begun to follow."""
        ...


class MetadataStore(Protocol):
    """Answers reads of any list; threads may share it."""

    def identity(self) -> Identity | None:
        """Return which ledger the store is of, None while that is not known."""
        ...

    def position(self) -> int:
        """Return the position the store has reached now."""
        ...

    def read_many(self, wanted: Sequence[Wanted]) -> list[Stored]:
        """Return answers as of one position."""
        ...

    def floors(self, tables: Iterable[int]) -> Mapping[int, ReaderIds]:
        """Return the ids of each table that every reader protected by the watermark sees.

        Such a reader sees all txns below the cleanup watermark as ended.
        """
        ...

    def close(self) -> None:
        """Close the store."""
        ...


class RowMetadataStore(MetadataStore):
    """The store over the rows of a follower, or of a feeder; `turn` is as for `RowEntries`."""

    def __init__(self, rows: RowReader, *, turn: AbstractContextManager[Any] | None = None) -> None:
        self._rows = rows
        self._turn = turn or RLock()

    def identity(self) -> Identity | None:
        with self._turn:
            return known_identity(self._fresh())

    def position(self) -> int:
        """Return the position of the newest whole batch of rows."""
        with self._turn:
            return lookups.position(self._fresh())

    def read_many(self, wanted: Sequence[Wanted]) -> list[Stored]:
        """Return answers from the newest whole batch of rows."""
        with self._turn:
            rows = self._fresh()
            return [stored(rows, each) for each in wanted]

    def floors(self, tables: Iterable[int]) -> Mapping[int, ReaderIds]:
        with self._turn:
            return dict(protected(self._fresh(), tables))

    def close(self) -> None:
        """Close the reader."""
        self._rows.close()

    def _fresh(self) -> RowReader:
        self._rows.refresh()
        return self._rows


def known_identity(rows: RowReader) -> Identity | None:
    """Return which ledger rows are of, None before its creation."""
    try:
        return lookups.identity(rows)
    except ReaderBehindError:
        return None


def protected(rows: RowReader, tables: Iterable[int]) -> Iterator[tuple[int, ReaderIds]]:
    """Yield the floor of each managed table: its valid ids if only txns below the mark ended."""
    txns = ValidTxnList(lookups.watermark(rows).watermark - 1, (), (), None)
    for number in tables:
        table = lookups.table(rows, number)
        if table is not None and table.definition.kind == "managed":
            yield number, ReaderIds.of(snapshots.valid_write_ids(rows, table, txns))
