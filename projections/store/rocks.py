"""RocksDB through rocksdict, which only this module imports: one database, options, pitfalls.

The adapters of the port, `RocksStore` and `RocksReader`, build on this module. It deals with:

- Raw mode: bytes in, bytes out. The options are passed for the column family too, or RocksDB
  takes the options that the first open left on disk.
- Only the upper bound of a cursor works (the setter of the lower one sets the upper), and
  the ready-made iterators end without an error at a damaged block; so scans go through
  `projections.store.paging`.
- Every failure is a plain Exception with the text of RocksDB; it becomes a StoreError by name.
"""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from sys import maxsize
from typing import Any, Final, Self
from weakref import WeakSet

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    Checkpoint,
    DbClosedError,
    DBCompressionType,
    DBRecoveryMode,
    IngestExternalFileOptions,
    Options,
    Rdict,
    ReadOptions,
    SstFileWriter,
    WriteBatch,
)

from projections.errors import (
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
)
from projections.store.paging import RowPages
from projections.store.port import Row, RowChange, check_keys

NOT_THERE: Final = os.strerror(errno.ENOENT)


@dataclass(frozen=True, slots=True)
class RocksLimits:
    """Bounds of memory, files and threads of one open database."""

    block_cache_bytes: int = 64 << 20
    write_buffer_bytes: int = 8 << 20
    open_files_max: int = 256
    """Limit of the writer; a secondary keeps every table open."""
    background_jobs: int = 2
    manifest_bytes_max: int = 64 << 10
    """A secondary replays the manifest edit by edit, ever slower: 1 MiB takes seconds."""


class Database:
    """One RocksDB database, open for writing or as a secondary of the process that writes it."""

    def __init__(self, path: Path, options: Options, access: AccessType) -> None:
        self._path = path
        self._scans = WeakSet[RowPages]()
        try:
            self._rows = Rdict(str(path), options, {"default": options}, access)
        except Exception as problem:
            raise self._error_for(problem) from problem

    @classmethod
    def writer(cls, path: Path, limits: RocksLimits, *, create: bool) -> Self:
        """Open the database at `path` for writing, a new one if `create`."""
        options = _options(limits)
        options.create_if_missing(create)
        options.set_max_open_files(limits.open_files_max)
        try:
            return cls(path, options, AccessType.read_write())
        except StoreUnavailableError as problem:
            # RocksDB's text is the same for a missing file and for a disk that refuses one.
            if create or NOT_THERE not in str(problem):
                raise
            raise StoreDamagedError(path, str(problem.__cause__)) from problem

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, None if there is no such row."""
        try:
            value: bytes | None = self._rows.get(key)
        except Exception as problem:
            raise self._error_for(problem) from problem
        return value

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Return the values of several keys, in their order."""
        try:
            values: Any = self._rows.get(list(keys)) if keys else []
        except Exception as problem:
            raise self._error_for(problem) from problem
        return list(values)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return the present rows of [start, end); the first page is read at the call."""
        if start >= end or limit == 0:
            return iter(())
        pages = self._pages(start, end, maxsize if limit is None else limit, reverse=reverse)
        first = self._page(pages)
        if not pages.is_live:
            return iter(first)
        self._scans.add(pages)
        return chain(first, chain.from_iterable(iter(lambda: self._page(pages), [])))

    def write(self, changes: Sequence[RowChange]) -> None:
        """Apply all changes or none; the write-ahead log is written, not synced to disk."""
        check_keys(changes)
        batch = WriteBatch(raw_mode=True)
        # In key order RocksDB finds the place of each row next to the row before it. The sort is
        # stable: the last change of a key stays the last.
        for key, value in sorted(changes, key=itemgetter(0)):
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        try:
            self._rows.write(batch)
        except Exception as problem:
            raise self._error_for(problem) from problem

    def ingest(self, tables: Sequence[Path]) -> None:
        """Take over tables of `TableWriter`, all or none; they must lie on the same file system."""
        options = IngestExternalFileOptions()
        options.set_move_files(True)
        try:
            self._rows.ingest_external_file([str(table) for table in tables], options)
        except Exception as problem:
            raise self._error_for(problem) from problem

    def rows_about(self) -> int:
        """Return an estimate of the number of rows."""
        try:
            return self._rows.property_int_value("rocksdb.estimate-num-keys") or 0
        except Exception as problem:
            raise self._error_for(problem) from problem

    def catch_up(self) -> None:
        """Apply the new writes of the writer, in a secondary."""
        try:
            self._rows.try_catch_up_with_primary()
        except Exception as problem:
            raise self._error_for(problem) from problem

    def checkpoint(self, path: Path) -> None:
        """Copy the database to `path`, by hard links where the file system can."""
        try:
            Checkpoint(self._rows).create_checkpoint(str(path))
        except Exception as problem:
            raise self._error_for(problem) from problem

    def close(self) -> None:
        """Flush and release everything, also under running scans; closing again does nothing."""
        for pages in self._scans:
            pages.take()
        try:
            self._rows.close()
        except DbClosedError:
            return
        except Exception as problem:
            raise self._error_for(problem) from problem

    def _pages(self, start: bytes, end: bytes, limit: int, *, reverse: bool) -> RowPages:
        bounds = ReadOptions()
        bounds.set_iterate_upper_bound(end)
        try:
            cursor = self._rows.iter(bounds)
        except Exception as problem:
            raise self._error_for(problem) from problem
        if reverse:
            cursor.seek_to_last()
        else:
            cursor.seek(start)
        return RowPages(cursor, start, end, limit=limit, reverse=reverse)

    def _page(self, pages: RowPages) -> list[Row]:
        try:
            return pages.read()
        except StoreClosedError:
            raise
        except Exception as problem:
            raise self._error_for(problem) from problem

    def _error_for(self, problem: Exception) -> StoreError:
        """Return the StoreError for an error text of RocksDB."""
        what = str(problem)
        if isinstance(problem, DbClosedError):
            return StoreClosedError(f"the store at {self._path}")
        if "/LOCK:" in what:
            return StoreLockedError(self._path, "the holder of its LOCK, perhaps a RocksDB tool")
        if what.startswith(("Corruption", "Invalid argument")):
            return StoreDamagedError(self._path, what)
        return StoreUnavailableError(self._path, what)


class TableWriter:
    """Writes one table of rows in order of keys, as a file that a database takes over."""

    def __init__(self, path: Path, limits: RocksLimits) -> None:
        self._path = path
        self._table = SstFileWriter(_options(limits))
        self._do(lambda: self._table.open(str(path)))

    def put(self, rows: Sequence[Row]) -> None:
        """Append rows, whose keys are in order and come after all before them."""
        check_keys((rows[0], rows[-1]))
        table = self._table

        def put_all() -> None:
            for key, value in rows:
                table[key] = value

        self._do(put_all)

    def finish(self) -> None:
        """Close the file; there must be a row in it."""
        self._do(self._table.finish)

    def _do(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as problem:
            raise StoreUnavailableError(self._path, str(problem)) from problem


class Secondaries:
    """Opens databases as secondaries, one after the other, with one block cache.

    RocksDB keeps its log files in `notes`.
    """

    def __init__(self, limits: RocksLimits, notes: Path) -> None:
        self._options = _options(limits)
        self._options.create_if_missing(create_if_missing=False)
        self._options.set_max_open_files(-1)  # An open table can be read after its removal.
        self._options.set_skip_stats_update_on_db_open(skip=True)
        self._access = AccessType.secondary(str(notes))

    def open(self, path: Path) -> Database:
        """Open the database at `path` as a secondary, current as of now."""
        return Database(path, self._options, self._access)


def _options(limits: RocksLimits) -> Options:
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(_table_options(limits))
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(limits.write_buffer_bytes)
    options.set_max_total_wal_size(4 * limits.write_buffer_bytes)
    # A torn tail, left by a power cut, is dropped with all that follows: whole batches remain.
    options.set_wal_recovery_mode(DBRecoveryMode.point_in_time())
    # Compact where most rows of a range are deleted; otherwise every scan passes over each of them.
    options.add_compact_on_deletion_collector_factory(1024, 512, 0.5)
    options.set_max_background_jobs(limits.background_jobs)
    options.set_max_file_opening_threads(limits.background_jobs)
    options.set_max_manifest_file_size(limits.manifest_bytes_max)
    # RocksDB's own log and statistics: small, and no timers on an idle machine.
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(1 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    return options


def _table_options(limits: RocksLimits) -> BlockBasedOptions:
    tables = BlockBasedOptions()
    tables.set_block_cache(Cache(limits.block_cache_bytes))
    tables.set_cache_index_and_filter_blocks(True)
    tables.set_pin_l0_filter_and_index_blocks_in_cache(True)
    tables.set_bloom_filter(10, False)  # noqa: FBT003 - 10 bits a key, whole-file filters
    # Filters in parts of some KB. The cache has 64 shards: one filter for a table of a million rows
    # fits no shard, and would be read from the file at every lookup.
    tables.set_index_type(BlockBasedIndexType.two_level_index_search())
    tables.set_partition_filters(True)
    return tables
