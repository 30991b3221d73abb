"""The rows of the files of a scan: pruned, read, judged, and given batch by batch."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import duckdb
import pyarrow as pa

from ledger.arrow.partition_rows import partition_scalars
from ledger.arrow.schema import TableSchema
from ledger.core.predicates.tree import TRUE, Node
from ledger.expressions.bounds import file_may_hold, may_hold
from ledger.expressions.column_bounds import group_bounds, parsed_stats
from ledger.expressions.duckdb.conditions import RowCondition
from ledger.expressions.duckdb.evaluation import duck, failures_named
from ledger.files.data_reading import OpenedFile
from ledger.files.foreign_bounds import is_foreign
from ledger.files.progress import shown
from ledger.files.rows.joined_blocks import joined_blocks
from ledger.files.rows.parquet_rows import BATCH_ROWS, ParquetRows, leaf_count
from ledger.files.storage import Storage
from ledger.reads.port import FileRow

AHEAD: Final = 4
"""So many files are read at once, if they are small."""

SMALL_BYTES: Final = 32 << 20
ROWS: Final = "rows"
EVERY_ROW: Final = "TRUE"

SchemaThen = Callable[[FileRow], TableSchema]
"""Returns the schema of the table when a file was added."""


@dataclass(frozen=True)
class RowSource:
    """The files of a scan and how their rows are found.

    `tree` is the condition, `condition` the same for rows. `storage` opens the files only when
    there are some.
    """

    files: Sequence[FileRow]
    schema: TableSchema
    storage: Callable[[], Storage]
    schema_then: SchemaThen
    tree: Node
    condition: RowCondition
    name: str

    def batches(self, columns: Sequence[str]) -> Generator[pa.RecordBatch, None, None]:
        """Yield the rows that fulfil the condition, with these columns."""
        source = self.settled()
        if source.condition.sql == EVERY_ROW:
            yield from source.raw(columns)
            return
        names = list(dict.fromkeys([*columns, *source.condition.columns]))
        schema = pa.schema([field_of(self.schema, name) for name in names])
        with duck() as connection:
            for rows in gathered(source.raw(names), schema):
                kept = rows.filter(source.fulfilled(connection, rows))
                yield from kept.select(list(columns)).to_batches()

    def count(self) -> int:
        """Return the number of rows, from statistics alone where these say it."""
        source = self.settled()
        if source.condition.sql != EVERY_ROW:
            return rows_in(source.batches([]))
        known = [known_rows(each) for each in source.files]
        rest = [file for file, rows in zip(source.files, known, strict=True) if rows is None]
        counted = replace(source, files=rest).raw([])
        return sum(filter(None, known)) + rows_in(counted)

    def settled(self) -> "RowSource":
        """Return the same rows with fewer files, and without a condition that files fulfil whole.

        Files whose statistics exclude every row are left out. A condition on partition columns
        alone is judged once for each partition.
        """
        if self.condition.sql == EVERY_ROW:
            return self
        files = [file for file in self.files if self.may_hold(file)]
        source = replace(self, files=files)
        if not self.condition.columns or not self.is_of_partitions(files):
            return source
        of_file = [tuple(map(keyed, self.partition(file).values())) for file in files]
        distinct = dict(zip(of_file, files, strict=True))
        rows = {
            name: pa.array(
                [self.partition(each)[name].as_py() for each in distinct.values()],
                field_of(self.schema, name).type,
            )
            for name in self.condition.columns
        }
        with duck() as connection:
            hits = self.fulfilled(connection, pa.table(rows)).to_pylist() if rows else []
        fulfils = dict(zip(distinct, hits, strict=True))
        kept = [each for key, each in zip(of_file, files, strict=True) if fulfils[key]]
        return replace(self, files=kept, condition=RowCondition(EVERY_ROW, ()))

    def partition(self, file: FileRow) -> Mapping[str, pa.Scalar]:
        """Return the partition values of a file by the names of their columns."""
        return partition_scalars(file, self.schema, self.schema_then(file))

    def is_of_partitions(self, files: Sequence[FileRow]) -> bool:
        """Return whether the condition reads nothing but the partitions of files."""
        names = set(self.condition.columns)
        return names <= set(self.schema.partition_columns) and all(
            self.schema_then(file).partition_columns == self.schema.partition_columns
            for file in files
        )

    def may_hold(self, file: FileRow) -> bool:
        """Return whether a file may hold rows of the condition, by its statistics."""
        return file_may_hold(self.tree, file, self.schema, self.schema_then)

    def fulfilled(self, connection: duckdb.DuckDBPyConnection, rows: pa.Table) -> Any:
        """Return for each row whether it fulfils the condition."""
        read = rows.select(list(self.condition.columns))
        if not self.condition.columns:
            read = pa.table({ROWS: pa.nulls(rows.num_rows)})
        connection.register(ROWS, read)
        with failures_named(self.tree):
            sql = f"SELECT coalesce(({self.condition.sql}), FALSE) FROM {ROWS}"  # noqa: S608 - compiled
            found = connection.execute(sql).to_arrow_table()
        connection.unregister(ROWS)
        return found.column(0)

    def raw(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files in their order, small files several at once.

        Rows in the log may come later than they stand there.
        """
        files = list(joined_blocks(self.files, self.schema_then))
        if not files:
            return
        storage = self.storage()
        if len(files) == 1:
            yield from self.rows_of(storage, files[0], names)
            return
        watched = shown(files, len(files), f"scan {self.name}")
        with ThreadPoolExecutor(AHEAD, thread_name_prefix="lakeledger-scan") as pool:
            ahead = deque(self.begun(pool, storage, each, names) for each in islice(watched, AHEAD))
            while ahead:
                yield from ahead.popleft()()
                ahead.extend(self.begun(pool, storage, each, names) for each in islice(watched, 1))

    def begun(
        self, pool: ThreadPoolExecutor, storage: Storage, file: FileRow, names: Sequence[str]
    ) -> Callable[[], Iterable[pa.RecordBatch]]:
        """Begin to read a small file, and return how its rows are got; a large one begins later."""
        if not 0 < file.size <= SMALL_BYTES:
            return lambda: self.rows_of(storage, file, names)
        return pool.submit(lambda: list(self.rows_of(storage, file, names))).result

    def rows_of(
        self, storage: Storage, file: FileRow, names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file, without row groups whose bounds exclude every row."""
        opened = OpenedFile(storage, file, self.schema, self.schema_then(file))
        try:
            groups = groups_holding(opened, self.tree)
            yield from opened.batches(names, groups=groups)
        finally:
            opened.close()


def groups_holding(opened: OpenedFile, where: Node) -> Sequence[int] | None:
    """Return the row groups that may hold rows of a condition, None for all."""
    source = opened.source
    if where == TRUE or not isinstance(source, ParquetRows):
        return None
    leaves: dict[str, int] = {}
    starts = [0]
    for field in source.arrow:
        starts.append(starts[-1] + leaf_count(field.type))
    for at, column in enumerate(opened.schema.columns):
        place = opened.places[at]
        if place is None or column.name in opened.partition:
            continue
        if source.arrow.field(place).type.equals(column.type):
            leaves[column.name.lower()] = starts[place]
    metadata, is_other = source.metadata, is_foreign(opened.file.path)
    found = (
        group_bounds(
            metadata.row_group(at), leaves, opened.schema, source.filter, is_other=is_other
        )
        for at in range(metadata.num_row_groups)
    )
    return [at for at, bounds in enumerate(found) if may_hold(where, bounds)]


def keyed(value: pa.Scalar) -> str | None:
    """Return a partition value by which files are put together; a text "None" is no NULL."""
    return str(value) if value.is_valid else None


def rows_in(batches: Iterable[pa.RecordBatch]) -> int:
    """Return the number of rows in batches."""
    return sum(int(batch.num_rows) for batch in batches)


def known_rows(file: FileRow) -> int | None:
    """Return the number of a file's rows that its statistics say, None if they say nothing."""
    rows = parsed_stats(file.stats).get("numRecords")
    if type(rows) is not int or (file.vector and file.deletion_vector is None):
        return None
    deleted = 0 if file.deletion_vector is None else file.deletion_vector.cardinality
    return rows - deleted if rows >= deleted else None


def field_of(schema: TableSchema, name: str) -> pa.Field:
    """Return a column of a table as a field."""
    found = schema.find(name)
    assert found is not None
    return found.field


def gathered(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield batches in tables of many rows: judging a table costs the same for few rows."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield pa.Table.from_batches(held, schema)
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held, schema)
