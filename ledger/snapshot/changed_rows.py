"""The rows that commits changed, from the files that they added and removed.

Rows that a rewrite copied are in a removed and in an added file, and cancel out: what is left is
the difference of two multisets. DuckDB computes it, and puts on disk what memory cannot hold. Files
that changed no data are left out.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ledger.errors import UnreadableTableError
from ledger.files.data_reading import ROW_NUMBER, OpenedFile
from ledger.files.deletion_vectors import DeletedRows, deleted_rows
from ledger.files.storage import storage_at
from ledger.reads.port import FileChange, FileRow, Reads, TableRow, VersionRow
from ledger.snapshot.table_snapshot import TableSnapshot

CHANGE_COLUMNS: Final = ("_change_type", "_commit_version", "_position", "_commit_timestamp")
"""The columns that changed rows have behind the ones of their table."""

UPDATE: Final = "UPDATE"
"""The operation that neither inserts nor deletes rows."""

TYPES: Final = (pa.string(), pa.int64(), pa.int64(), pa.timestamp("us", "UTC"))
FIELDS: Final = tuple(
    pa.field(name, type_, nullable=False) for name, type_ in zip(CHANGE_COLUMNS, TYPES, strict=True)
)
MEMORY: Final = "1GB"
SETTINGS: Final = ("SET TimeZone = 'UTC'", f"SET memory_limit = '{MEMORY}'")
PAGE: Final = 1_000
MS: Final = 1000


class CommitRows:
    """Reads the changed rows of one table, with the columns that it has now."""

    def __init__(self, reads: Reads, table: TableRow) -> None:
        self._reads = reads
        self._table = table
        self._storage = storage_at(table.definition.location)
        self._snapshot = TableSnapshot(reads, table, reads.position())
        self._columns = self._snapshot.schema
        rows = self._columns.arrow
        taken = {field.name for field in FIELDS} & {row.name.lower() for row in rows}
        if taken:
            raise UnreadableTableError(
                f"column {min(taken)} of table {table.name} has the name of a column that changes "
                "of rows have; rename the column"
            )
        self.schema = pa.schema([*rows, *FIELDS])

    def batches(self, version: VersionRow, changes: Iterable[FileChange]) -> Iterator[Any]:
        """Yield the rows that one commit changed: first the deleted ones, then the inserted ones.

        Raises UnreadableTableError for a file that is gone.
        """
        meant = [change for change in changes if change.data_change]
        removed, added = self._parts(
            [each.file for each in meant if not each.added],
            [each.file for each in meant if each.added],
        )
        if removed and added:
            yield from self._difference(version, removed, added)
            return
        for part in removed:
            yield from (self._named(row, version, "delete") for row in self._rows(part))
        for part in added:
            yield from (self._named(row, version, "insert") for row in self._rows(part))

    def _parts(
        self, removed: Sequence[FileRow], added: Sequence[FileRow]
    ) -> tuple[list["FilePart"], list["FilePart"]]:
        """Return what to read of files: of one that only lost rows, these rows."""
        after = {file.path: file for file in added if file.vector}
        gone: list[FilePart] = []
        marked: set[str] = set()
        for file in removed:
            rows = self._lost(file, after.get(file.path))
            if rows is not None:
                marked.add(file.path)
            gone.append(FilePart(file, rows))
        return gone, [FilePart(file, None) for file in added if file.path not in marked]

    def _lost(self, before: FileRow, after: FileRow | None) -> DeletedRows | None:
        """Return the rows that a file lost, None if it did not only lose rows."""
        if after is None or after.deletion_vector is None:
            return None
        now, known = deleted_rows(self._storage, after.deletion_vector), before.deletion_vector
        if known is None:
            return now if not before.vector else None
        then = deleted_rows(self._storage, known)
        return now - then if then <= now else None

    def _difference(
        self, version: VersionRow, removed: Sequence["FilePart"], added: Sequence["FilePart"]
    ) -> Iterator[Any]:
        with multiset() as rows:
            counts = [0, 0]
            for side, (sign, parts) in enumerate(((-1, removed), (1, added))):
                for part in parts:
                    for batch in self._rows(part):
                        counts[side] += len(batch)
                        rows.add(batch, sign)
            fewer, more = rows.settle()
            is_update = version.operation == UPDATE and fewer == more
            names = ("update_preimage", "update_postimage") if is_update else ("delete", "insert")
            if is_update and counts == [fewer, more]:
                # Every row changed: both sides are in the order of the statement.
                for name, parts in zip(names, (removed, added), strict=True):
                    for part in parts:
                        yield from (self._named(row, version, name) for row in self._rows(part))
                return
            for name, sign in zip(names, (-1, 1), strict=True):
                for found in rows.left(sign):
                    yield self._named(found, version, name)

    def _rows(self, part: "FilePart") -> Iterator[Any]:
        """Yield the rows of a file, or some of them, in batches."""
        file, names = part.file, [column.name for column in self._columns.columns]
        try:
            opened = OpenedFile(self._storage, file, self._columns, self._snapshot.schema_of(file))
        except UnreadableTableError as problem:
            if self._storage.exists(file.path):
                raise
            raise UnreadableTableError(
                f"the rows of file {file.path} are gone: a vacuum or another program deleted it, "
                "or a trim of the log took them. "
                f"Read the changes after version {self._version_without(file)}"
            ) from problem
        with closing(opened):
            if part.rows is None:
                yield from opened.batches(names)
                return
            for batch in opened.batches(names, numbered=True, groups=opened.groups_of(part.rows)):
                numbers = pa.array(part.rows, pa.int64())
                hit = pc.is_in(batch.column(ROW_NUMBER), numbers)
                yield batch.filter(hit).select(names)

    def _version_without(self, file: FileRow) -> int:
        """Return the version that removed a file: behind it the file is not needed."""
        table, newest = self._table.table, self._table.version
        first, place = file.version + 1, 0
        while page := self._reads.file_changes(table, first, newest, PAGE, place=place):
            for each in page:
                if not each.added and each.file[:3] == file[:3]:
                    return each.version
            first, place = page[-1].version, page[-1].place
        return newest

    def _named(self, batch: Any, version: VersionRow, change: str) -> Any:
        """Return rows with the columns that say what became of them."""
        when = datetime.fromtimestamp(version.at / MS, UTC)
        values = (change, version.version, version.position, when)
        fields = list(self.schema)[: batch.num_columns]
        arrays = [
            array.cast(field.type) for array, field in zip(batch.columns, fields, strict=True)
        ]
        for field, each in zip(FIELDS, values, strict=True):
            arrays.append(pa.repeat(pa.scalar(each, field.type), batch.num_rows))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class FilePart(NamedTuple):
    """A file, or some of its rows by number."""

    file: FileRow
    rows: DeletedRows | None


class Multiset:
    """Rows with a count each; it may be negative."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._schema: Any = None
        self._kept: list[str] = []

    def add(self, batch: Any, sign: int) -> None:
        """Add rows, or take them away if the sign is -1."""
        if self._schema is None:
            self._schema = batch.schema
            # DuckDB has no column without a type, and all values of one are NULL.
            self._kept = [
                f"c{at}" for at, each in enumerate(batch.schema) if not pa.types.is_null(each.type)
            ]
            self._create(batch)
        self._connection.register("batch", self._plain(batch))
        self._connection.execute(f"INSERT INTO counted SELECT *, {sign} FROM batch")  # noqa: S608
        self._connection.unregister("batch")

    def settle(self) -> tuple[int, int]:
        """Count equal rows together; return how many are taken away and how many are added."""
        if self._schema is None:
            return 0, 0
        self._connection.execute(
            f"CREATE TEMP TABLE net AS SELECT {self._columns()}sum(n)::BIGINT AS n FROM counted "  # noqa: S608
            f"{'GROUP BY ALL' if self._kept else ''} HAVING sum(n) <> 0"
        )
        self._connection.execute("DROP TABLE counted")
        counts = "coalesce(sum(n) FILTER (n < 0), 0), coalesce(sum(n) FILTER (n > 0), 0)"
        found = self._connection.execute(f"SELECT {counts} FROM net").fetchone()  # noqa: S608
        return -int(found[0]), int(found[1])

    def left(self, sign: int) -> Iterator[Any]:
        """Yield the rows that were added more often than taken away, or less often for -1."""
        if self._schema is None:
            return
        found = self._connection.execute(
            f"SELECT {self._columns()}unnest(range(abs(n))) AS copy FROM net "  # noqa: S608
            f"WHERE sign(n) = {sign}"
        ).to_arrow_reader()
        for batch in found:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            arrays = [
                columns[f"c{at}"].cast(field.type)
                if f"c{at}" in columns
                else pa.nulls(batch.num_rows, field.type)
                for at, field in enumerate(self._schema)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _create(self, batch: Any) -> None:
        self._connection.register("batch", self._plain(batch.slice(0, 0)))
        self._connection.execute(
            "CREATE TEMP TABLE counted AS SELECT *, 0::BIGINT AS n FROM batch LIMIT 0"
        )
        self._connection.unregister("batch")

    def _plain(self, batch: Any) -> Any:
        """Return a batch as a table whose columns are named by their place."""
        named = dict(zip((f"c{at}" for at in range(batch.num_columns)), batch.columns, strict=True))
        if not self._kept:
            return pa.table({"blank": pa.array([False] * batch.num_rows)})
        return pa.table({name: named[name] for name in self._kept})

    def _columns(self) -> str:
        return "".join(f"{name}, " for name in self._kept)


@contextmanager
def multiset() -> Iterator[Multiset]:
    """Make an empty multiset, which may use a folder for temporary files."""
    with tempfile.TemporaryDirectory(prefix="lakeledger-changes-") as folder:
        config: dict[str, Any] = {"python_enable_replacements": "false", "temp_directory": folder}
        with duckdb.connect(config=config) as connection:
            for setting in SETTINGS:
                connection.execute(setting)
            yield Multiset(connection)
