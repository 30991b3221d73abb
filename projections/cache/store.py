"""The store behind a cache: it answers reads of any list, from rows.

A long-running cache opens its store at the first question, and again after a failure: a follower
may start later than a cache on its host, and may rebuild its rows. Neither needs a restart of the
cache; until the store exists, questions to it get an error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Generic, Protocol, TypeVar

from ledger.core.lists.valid_lists import ValidTxnList
from ledger.errors import LogRewrittenError, ReaderBehindError
from ledger.reads.port import Identity
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows_as_entries import store_answer
from projections.cache.ports import EntryRead, StoreAnswer
from projections.errors import StoreError
from projections.reads import lookups, snapshots
from projections.store.port import RowReader
from projections.store.rocks_reader import RocksReader


class RowMetadataStore:
    """The store over the rows of a follower, or of a feeder; threads may share it.

    All users of the same rows share `turn`, a reentrant lock.
    """

    def __init__(self, rows: RowReader, *, turn: AbstractContextManager[Any] | None = None) -> None:
        self._rows = rows
        self._turn = turn or RLock()

    def identity(self) -> Identity | None:
        """Return which ledger the store is of, None while that is not known."""
        with self._fresh() as rows:
            return known_identity(rows)

    def position(self) -> int:
        """Return the position of the newest whole batch of rows."""
        with self._fresh() as rows:
            return lookups.position(rows)

    def read_many(self, wanted: Sequence[EntryRead]) -> list[StoreAnswer]:
        """Return answers as of one position, from the newest whole batch of rows."""
        with self._fresh() as rows:
            return [store_answer(rows, read) for read in wanted]

    def floors(self, tables: Iterable[int]) -> Mapping[int, ReaderIds]:
        """Return the ids of each managed table that every reader protected by the watermark sees.

        Such a reader sees all txns below the cleanup watermark as ended.
        """
        with self._fresh() as rows:
            return dict(protected(rows, tables))

    def close(self) -> None:
        """Close the reader."""
        self._rows.close()

    @contextmanager
    def _fresh(self) -> Iterator[RowReader]:
        """Yield the newest rows, to one thread at a time."""
        with self._turn:
            self._rows.refresh()
            yield self._rows


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


class Closing(Protocol):
    """An object with `close`."""

    def close(self) -> None:
        """Release the object."""
        ...


Opened = TypeVar("Opened", bound=Closing)


class Reopened(Generic[Opened]):
    """An object that is opened when needed, and anew after a StoreError.

    It is opened anew after a LogRewrittenError too: the old one has seen a log that is gone.
    """

    def __init__(self, open_it: Callable[[], Opened]) -> None:
        self._open = open_it
        self._opened: Opened | None = None
        self._turn = Lock()

    @contextmanager
    def use(self) -> Iterator[Opened]:
        """Yield the object; raises what opening it raises."""
        with self._turn:
            if self._opened is None:
                self._opened = self._open()
            opened = self._opened
        try:
            yield opened
        except (StoreError, LogRewrittenError):
            self._drop(opened)
            raise

    def close(self) -> None:
        """Close the opened object, if any."""
        if self._opened is not None:
            self._drop(self._opened)

    def _drop(self, opened: Opened) -> None:
        with self._turn:
            if self._opened is opened:
                self._opened = None
                opened.close()


class StoreAt(RowMetadataStore):
    """The store over the rows at a path, which may not exist yet."""

    def __init__(self, path: Path) -> None:
        self._reopened = Reopened(lambda: RocksReader.open(path))
        self._turn = RLock()

    def close(self) -> None:
        self._reopened.close()

    @contextmanager
    def _fresh(self) -> Iterator[RowReader]:
        with self._turn, self._reopened.use() as rows:
            rows.refresh()
            yield rows
