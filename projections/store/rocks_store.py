"""The writer of the row store on disk: one process, one generation, one RocksDB database."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Final, Self

from projections.errors import StoreUnavailableError
from projections.store.generations import Generations
from projections.store.port import (
    FORMAT_KEY,
    FORMAT_VERSION,
    Row,
    RowChange,
    RowsBeneath,
    RowStore,
    check_format,
    format_stamp,
)
from projections.store.rocks import Database, RocksLimits, TableWriter

TABLE_BYTES: Final = 64 << 20


class RocksStore(RowsBeneath, RowStore):
    """The one writer of the store at a root, made by `open` or by `rebuild`.

    Other threads may read while one writes.
    """

    _store: Database

    def __init__(self, root: Path, version: int, limits: RocksLimits, *, anew: bool) -> None:
        self._generations, self._limits = Generations(root), limits
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

    def fill(self, pages: Iterable[Sequence[Row]]) -> None:
        """Add many rows to a store without rows in their range, all or none.

        `pages` are rows in order of keys; an error of `pages` leaves the store as it was. The rows
        become tables without passing through memory and write-ahead log: that is many times faster.
        """
        drafts = self._generation.with_name(f"{self._generation.name}-drafts")
        try:
            drafts.mkdir()
        except OSError as refusal:
            raise StoreUnavailableError(drafts, str(refusal)) from refusal
        try:
            tables = list(written_tables(drafts, pages, self._limits))
            if tables:
                self._store.ingest(tables)
        finally:
            shutil.rmtree(drafts, ignore_errors=True)

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


def written_tables(
    folder: Path, pages: Iterable[Sequence[Row]], limits: RocksLimits
) -> Iterator[Path]:
    """Write rows as tables of bounded size into a folder, and yield the path of each."""
    writer, path, size = None, folder, 0
    for number, rows in enumerate(filter(None, pages)):
        if writer is None:
            path = folder / f"{number:06d}.sst"
            writer, size = TableWriter(path, limits), 0
        writer.put(rows)
        size += sum(map(len, chain.from_iterable(rows)))
        if size >= TABLE_BYTES:
            writer.finish()
            writer = None
            yield path
    if writer is not None:
        writer.finish()
        yield path
