"""The store of a long-running cache: opened at the first question, and again after a failure.

A follower may start later than a cache on its host, and may rebuild its rows. Neither needs a
restart of the cache; until the store exists, questions to it get an error.
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
        """Close the opened object, if any."""
        if self._opened is not None:
            self._drop(self._opened)

    def _drop(self, opened: Opened) -> None:
        with self._turn:
            if self._opened is opened:
                self._opened = None
                opened.close()


class StoreAt(MetadataStore):
    """The store of metadata in the rows at a path, which may not exist yet."""

    def __init__(self, path: Path) -> None:
        self._rows = Reopened(lambda: RowMetadataStore(RocksReader.open(path)))

    def identity(self) -> Identity | None:
        """Return which ledger the store is of, None before its creation."""
        return self._rows.ask(lambda store: store.identity())

    def position(self) -> int:
        return self._rows.ask(lambda store: store.position())

    def read_many(self, wanted: Sequence[Wanted]) -> list[Stored]:
        return self._rows.ask(lambda store: store.read_many(wanted))

    def floors(self, tables: Iterable[int]) -> Mapping[int, ReaderIds]:
        return self._rows.ask(lambda store: store.floors(tables))

    def close(self) -> None:
        self._rows.close()
