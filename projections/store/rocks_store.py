"""The writer of the row store on disk: one process, one generation, one RocksDB database."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from projections.store.generations import Generations
from projections.store.port import (
    FORMAT_KEY,
    FORMAT_VERSION,
    RowChange,
    RowsBeneath,
    RowStore,
    check_format,
    format_stamp,
)
from projections.store.rocks import Database, RocksLimits


class RocksStore(RowsBeneath, RowStore):
    """The one writer of the store at a root, made by `open` or by `rebuild`.

    Other threads may read while one writes.
    """

    _store: Database

    def __init__(self, root: Path, version: int, limits: RocksLimits, *, anew: bool) -> None:
        self._generations = Generations(root)
        with ExitStack() as held:
            held.enter_context(self._generations.lock())
            published = None if anew else self._generations.published()
            self._generation = published or self._generations.next()
            self._store = Database.writer(self._generation, limits, create=published is None)
            held.callback(self._store.close)
            if published is None:
                self.write([format_stamp(version)])
            check_format(self.get(FORMAT_KEY), version, self._generation)
            if not anew:
                self.publish()
            self._held = held.pop_all()

    @classmethod
    def open(
        cls, root: Path, *, version: int = FORMAT_VERSION, limits: RocksLimits | None = None
    ) -> Self:
        """Become the writer of the store at `root`; create an empty store if there is no store.

        Raises:
            StoreLockedError: another process is the writer; the error names it.
            StoreVersionError: the rows have another format. `rebuild` them.
            StoreDamagedError: a file is missing or damaged. `rebuild` the store.
        """
        return cls(root, version, limits or RocksLimits(), anew=False)

    @classmethod
    def rebuild(
        cls, root: Path, *, version: int = FORMAT_VERSION, limits: RocksLimits | None = None
    ) -> Self:
        """Begin an empty store in place of the one at `root`, even if that one is damaged.

        Readers keep the old store until `publish`; it also stays if this process ends before.

        Raises:
            StoreLockedError: another process is the writer; the error names it.
        """
        return cls(root, version, limits or RocksLimits(), anew=True)

    def publish(self) -> None:
        """Make readers move to this store at their next refresh, and remove the old one."""
        if self._generations.published() != self._generation:
            self._generations.publish(self._generation)
        self._generations.sweep()

    def write(self, changes: Sequence[RowChange]) -> None:
        self._store.write(changes)

    def refresh(self) -> None:
        self._store.get(FORMAT_KEY)  # Raises StoreClosedError if closed.

    def checkpoint(self, directory: Path) -> None:
        """Copy the present store to `directory`, as the root of a store of its own.

        Tables are hard links where both are on one file system. An earlier copy is replaced, as by
        a rebuild.
        """
        copies = Generations(directory)
        with copies.lock():
            copy = copies.next()
            self._store.checkpoint(copy)
            copies.publish(copy)
            copies.sweep()

    def close(self) -> None:
        """Flush, release the files, and let another process become the writer."""
        self._held.close()
