"""The store of a cache that runs for long: opened when it is first asked, and again when it failed.

A follower may start later than a cache on its host, and may rebuild its rows. Neither needs a cache
to be started again; until the store is there, whoever needs it is told so.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Generic, Protocol, TypeVar

from ledger.errors import LogRewrittenError
from ledger.reads.port import Identity
from projections.cache.fold import Stored, Wanted
from projections.cache.ids import ReaderIds
from projections.cache.source import MetadataStore, RowMetadataStore
from projections.errors import StoreError
from projections.store.rocks_reader import RocksReader

Found = TypeVar("Found")


class Closing(Protocol):
    """What can be let go of."""

    def close(self) -> None:
        """Let go of it."""
        ...


Opened = TypeVar("Opened", bound=Closing)


class Reopened(Generic[Opened]):
    """Something that is opened when it is needed, and anew after a StoreError.

    So it is after a LogRewrittenError: what was opened has seen a log that is no more.
    """

    def __init__(self, open_it: Callable[[], Opened]) -> None:
        self._open = open_it
        self._opened: Opened | None = None
        self._turn = Lock()

    def ask(self, question: Callable[[Opened], Found]) -> Found:
        """Return the answer to a question; raises what opening or answering raises."""
        with self._turn:
            if self._opened is None:
                self._opened = self._open()
            opened = self._opened
        try:
            return question(opened)
        except (StoreError, LogRewrittenError):
            self._drop(opened)
            raise

    def close(self) -> None:
        """Let go of what was opened."""
        if self._opened is not None:
            self._drop(self._opened)

    def _drop(self, opened: Opened) -> None:
        with self._turn:
            if self._opened is opened:
                self._opened = None
                opened.close()


class StoreAt(MetadataStore):
    """The store of metadata in the rows at a path, whether or not there are any yet."""

    def __init__(self, path: Path) -> None:
        self._rows = Reopened(lambda: RowMetadataStore(RocksReader.open(path)))

    def identity(self) -> Identity | None:
        """Return which ledger the store is of, None before its creation."""
        return self._rows.ask(lambda store: store.identity())

    def position(self) -> int:
        """Return the position the store has reached now."""
        return self._rows.ask(lambda store: store.position())

    def read_many(self, wanted: Sequence[Wanted]) -> list[Stored]:
        """Return answers as of one position."""
        return self._rows.ask(lambda store: store.read_many(wanted))

    def floors(self, tables: Iterable[int]) -> Mapping[int, ReaderIds]:
        """Return the least ids that a protected reader of each table sees."""
        return self._rows.ask(lambda store: store.floors(tables))

    def close(self) -> None:
        """Close the store, if it was opened."""
        self._rows.close()
