"""Writes rows into new data files of a table: Parquet, one partition in each file.

Few rows are no file, where the table wants that: they are a block, which goes into the log.

The columns of a file carry the ids of the table's columns. Partition columns are not stored. The
folder of a partition has the name that Spark gives it; a reader goes by the values in the log.

The name of a file begins with its writer, and with digits that no other statement draws. So a
cleaner can tell the files of open txns.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ledger.arrow.schema import TableSchema
from ledger.arrow.transformed import with_transforms
from ledger.core.partitions.names import Values
from ledger.core.partitions.values import HIVE_NULL
from ledger.definitions.partition_texts import text_of
from ledger.errors.storage import refusals_named
from ledger.files.file_writers import FileWriter
from ledger.files.rows.blocks import block_of
from ledger.files.rows.placing import CopiedRows, Placing
from ledger.files.sorting import in_order
from ledger.files.statistics import FileStatistics
from ledger.files.storage import Storage
from ledger.files.written_files import discard
from ledger.keys.folder import KeyFolder
from ledger.keys.sealed_rows import ROOM, sealed
from ledger.log.wire.file_extras import BLOCK
from ledger.log.wire.file_list import AddFile

TARGET_BYTES: Final = 256 << 20
GROUP_BYTES: Final = 64 << 20
BUFFER_BYTES: Final = 512 << 20
"""The bytes of rows that wait for their files, in a file and in all of them."""

BLOCK_ROWS: Final = 1_000
BLOCKS_BYTES: Final = 256 << 10
"""The rows of a block at most, and the bytes of all blocks of one statement."""

GROUP_ROWS: Final = 128 << 10
"""A statement on a few rows reads the row groups that may hold them."""

OPEN_MAX: Final = 200
FALSE_HITS: Final = 0.01
"""A Bloom filter says of such a part of absent values that a row group may have them."""

# What Spark escapes in the name of a folder.
ESCAPED: Final = re.compile(r'[\x00-\x1f\x7f"#%\'*/:=?\\{\[\]^]')


def write_rows(
    storage: Storage,
    schema: TableSchema,
    batches: Iterable[Any],
    *,
    writer: FileWriter,
    target_bytes: int = TARGET_BYTES,
    placing: Placing | None = None,
    has_blocks: bool = True,
    keys: KeyFolder | None = None,
) -> Sequence[AddFile]:
    """Write batches of the schema into new files of about `target_bytes`, and return the files.

    If it raises, the files written so far are deleted. `placing` notes where the rows are. Without
    `has_blocks` every row goes into a file of the storage. `keys` are as for `NewFiles`.
    """
    room = BLOCKS_BYTES if has_blocks else 0
    files = NewFiles(storage, schema, writer, target_bytes, placing=placing, room=room, keys=keys)
    if placing is not None and schema.sort:
        batches = (each.rows if isinstance(each, CopiedRows) else each for each in batches)
    try:
        for batch in in_order(batches, schema.sort):
            if isinstance(batch, CopiedRows):
                files.write(batch.rows, batch.sources)
            else:
                files.write(batch)
        return files.finish()
    except BaseException:
        files.discard()
        raise


class NewFiles:
    """New data files of one table; rows wait in memory until they make a row group.

    `folder` is a folder below each partition, with a slash at its end. Blocks may have up to `room`
    bytes together. Those of an encrypted table are sealed with one of the `keys`; without keys all
    its rows go into files.
    """

    def __init__(
        self,
        storage: Storage,
        schema: TableSchema,
        writer: FileWriter,
        target_bytes: int = TARGET_BYTES,
        *,
        folder: str = "",
        placing: Placing | None = None,
        room: int = 0,
        keys: KeyFolder | None = None,
    ) -> None:
        if target_bytes < 1:
            raise ValueError(f"target_bytes must be 1 or more, got {target_bytes}")
        schema.check_holds_rows()
        self._storage = storage
        self._schema = schema
        self._writer = writer.drawn()
        self._safe = spared(schema.name, writer.txn)
        self._target = target_bytes
        self._folder = folder
        self._placing = placing
        self._keys = keys if schema.encrypted else None
        self._room = 0 if schema.encrypted and keys is None else room
        self._open: dict[Values, NewFile] = {}
        self._done: list[AddFile] = []
        self._paths: list[str] = []
        self._columns = schema.divided_by
        self._names = [column.name for column in schema.stored_columns]
        self._stored = schema.stored
        filtered = set(schema.bloom)
        self._filters = {
            column.physical: {"fpp": FALSE_HITS}
            for column in schema.stored_columns
            if column.name in filtered
        }

    def write(self, batch: Any, sources: Sequence[tuple[str, int]] = ()) -> None:
        """Write the rows of a batch or table that has the columns of the schema.

        `sources` are the paths of the files from which they are copied, with how many rows come
        from each; new rows have none.
        """
        parts = list(self._split(batch))
        for values, rows in parts:
            if not len(rows):
                continue
            file = self._file(values)
            # Rows that part ways have no common order any more.
            if self._placing is not None and sources and len(parts) == 1:
                self._placing.place(sources, file.path, file.rows)
            elif self._placing is not None:
                self._placing.told.take(values, rows)
            file.take(stored(rows, self._names, self._stored))
            if file.holds(min(GROUP_BYTES, self._target)):
                file.flush()
                if file.size >= self._target:
                    self._close(values)
        opened = self._open.values()
        if sum(each.most for each in opened) > BUFFER_BYTES < sum(each.waiting for each in opened):
            max(opened, key=lambda each: each.waiting).flush()

    def finish(self) -> Sequence[AddFile]:
        """Close all files, and return them."""
        for values in list(self._open):
            self._close(values)
        return self._done

    def discard(self) -> None:
        """Delete all files, as far as the storage lets them be deleted."""
        for each in self._open.values():
            each.abandon()
        discard(self._storage, self._paths)

    def _split(self, batch: Any) -> Iterator[tuple[Values, Any]]:
        if not self._columns:
            yield (), batch
            return
        batch = with_transforms(batch, self._schema)
        codes = partition_codes(batch, [column.name for column in self._columns])
        order = pc.sort_indices(codes)
        ends = pc.run_end_encode(codes.take(order)).run_ends.to_pylist()
        sorted_rows = batch.take(order) if len(ends) > 1 else batch
        start = 0
        for end in ends:
            rows = sorted_rows.slice(start, end - start)
            first = [rows.column(column.name)[0] for column in self._columns]
            yield tuple(map(text_of, first, self._columns)), rows
            start = end

    def _file(self, values: Values) -> "NewFile":
        found = self._open.get(values)
        if found is None:
            if len(self._open) >= OPEN_MAX:
                self._close(next(iter(self._open)))
            # Some readers take each folder with a sign of equality for a column of the table.
            plain = [
                (column.name, value)
                for column, value in zip(self._columns, values, strict=True)
                if column.name not in self._schema.transforms
            ]
            names, named = zip(*plain, strict=True) if plain else ((), ())
            inside = f"{folder_of(names, named)}{self._folder}"
            path = f"{inside}{self._writer}-{len(self._paths)}.parquet"
            self._paths.append(path)
            found = self._open[values] = NewFile(
                self._storage, path, self._schema, self._safe, self._filters
            )
        return found

    def _close(self, values: Values) -> None:
        file = self._open.pop(values)
        more = 0 if self._keys is None else ROOM
        block = file.block(values, min(self._room, self._schema.inline) - more)
        if block is None:
            self._done.append(file.close(values))
            return
        if self._keys is not None:
            rows = sealed(self._keys, self._schema.table, block.path, block.rows, block.modified)
            block = block._replace(rows=rows, size=len(rows))
        self._room -= block.size
        if self._placing is not None:
            self._placing.rename(file.path, block.path)
        self._done.append(block)


class NewFile:
    """A data file that is being written; `safe` says what becomes of the work if that is refused.

    `filters` are the columns with Bloom filters. `most` are the bytes of the buffers in which the
    rows are that wait; other rows may be there too. Its methods raise StorageError if the storage
    refuses the file.
    """

    def __init__(
        self, storage: Storage, path: str, table: TableSchema, safe: str, filters: Mapping[str, Any]
    ) -> None:
        self.most = self.rows = 0
        self.path = path
        self._place, self._safe = f"{storage.location}/{path}", safe
        self._rows: list[Any] = []
        self._measured, self._waiting = 0, 0
        self._storage, self._stored, self._filters = storage, table.stored, dict(filters)
        self._unstated = table.unstated
        self._stream: Any = None
        self._parquet: Any = None

    @property
    def size(self) -> int:
        """The bytes written so far."""
        return 0 if self._stream is None else int(self._stream.tell())

    @cached_property
    def _statistics(self) -> FileStatistics:
        """The statistics of the rows; a block needs none."""
        return FileStatistics(self._stored, self._unstated)

    def take(self, rows: Any) -> None:
        """Take rows, which wait for the next row group."""
        self._rows.append(rows)
        self.rows += len(rows)
        self.most += rows.get_total_buffer_size()

    @property
    def waiting(self) -> int:
        """The bytes of the rows that wait."""
        self._waiting += sum(each.nbytes for each in self._rows[self._measured :])
        self._measured = len(self._rows)
        return self._waiting

    def holds(self, size: int) -> bool:
        """Return whether rows of so many bytes wait: of few rows the buffers tell it sooner."""
        return self.most >= size and self.waiting >= size

    def flush(self) -> None:
        """Write what waits as row groups."""
        if not self._rows:
            return
        rows = pa.concat_tables(self._rows)
        self._rows, self.most, self._measured, self._waiting = [], 0, 0, 0
        self._statistics.add(rows)
        with self._writing():
            self._open()
            self._parquet.write_table(rows, GROUP_ROWS)

    def block(self, values: Values, room: int) -> AddFile | None:
        """Return the rows as a block of at most `room` bytes, None if they do not fit into one."""
        if self._stream is not None or self.rows > BLOCK_ROWS or self.holds(room + 1):
            return None
        data = block_of(pa.concat_tables(self._rows))
        if len(data) > room:
            return None
        path = f"{BLOCK}{PurePosixPath(self.path).stem}"
        stats = rows_alone(self.rows)
        return AddFile(path, values, len(data), now_ms(), stats=stats, rows=data)

    def close(self, values: Values) -> AddFile:
        """Finish the file, and return it as a commit adds it."""
        self.flush()
        with self._writing():
            self._open()
            self._parquet.close()
            size = self.size
            self._stream.close()
        return AddFile(self.path, values, size, now_ms(), stats=self._statistics.text)

    def abandon(self) -> None:
        """Close what is open, without a whole file."""
        self._rows = []
        for opened in filter(None, (self._parquet, self._stream)):
            try:
                opened.close()
            except (OSError, pa.ArrowException):
                continue

    def _open(self) -> None:
        if self._stream is None:
            self._stream = self._storage.create(self.path)
            self._parquet = pq.ParquetWriter(
                self._stream,
                self._stored,
                store_schema=False,
                bloom_filter_options=self._filters or None,
            )

    def _writing(self) -> AbstractContextManager[None]:
        return refusals_named(self._place, safe=self._safe)


def now_ms() -> int:
    """Return the time of this machine in milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def rows_alone(count: int) -> str:
    """Return the statistics of rows in the log: readers have the rows themselves."""
    return f'{{"numRecords":{count}}}'


def spared(table: str, txn: int) -> str:
    """Return what becomes of a table, and of a txn, whose file the storage refuses."""
    named = f"The file was for table {table}, and" if table else "The file is removed, and"
    if not txn:
        return f"{named} nothing was committed"
    return f"{named} txn {txn} has nothing of the statement: abort it, or go on with it"


def partition_codes(batch: Any, names: Sequence[str]) -> Any:
    """Return one number for each row, equal for rows of one partition."""
    codes = None
    for name in names:
        column = batch.column(name)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        encoded = column.dictionary_encode(null_encoding="encode")
        each = encoded.indices.cast(pa.int64())
        if codes is not None:
            # The numbers stay below the square of the rows, so that they cannot overflow.
            joined = pc.add(pc.multiply(codes, max(len(encoded.dictionary), 1)), each)
            each = joined.dictionary_encode().indices.cast(pa.int64())
        codes = each
    return codes


def stored(rows: Any, names: Sequence[str], schema: Any) -> Any:
    """Return rows with the columns of a data file."""
    columns = []
    for name, field in zip(names, schema, strict=True):
        column = rows.column(name)
        if pa.types.is_nested(field.type):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            column = pa.chunked_array([chunk.view(field.type) for chunk in chunks], field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def folder_of(names: Sequence[str], values: Values) -> str:
    """Return the folder of a partition as Spark names it, with a slash at its end, "" for none."""
    parts = (
        f"{escaped(name)}={HIVE_NULL if value is None else escaped(value)}/"
        for name, value in zip(names, values, strict=True)
    )
    return "".join(parts)


def escaped(text: str) -> str:
    """Return a part of a folder's name with Spark's escapes."""
    return ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
