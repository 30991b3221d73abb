"""A table whose data files are made from plain rows, for tests of what commits change in it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.client import Ledger
from ledger.files.data_files import write_rows
from ledger.files.data_reading import read_file
from ledger.files.file_writers import FileWriter
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile
from ledger.reads.port import FileRow

TABLE = "flights"
Row = tuple[Any, ...]


class RowFiles:
    """The table `flights` in a folder, its client, and rows as tuples."""

    def __init__(
        self,
        ledger: Ledger,
        folder: Path,
        columns: Sequence[tuple[str, str]],
        by: Sequence[str] = (),
    ) -> None:
        self.ledger = ledger
        self.storage = storage_at(str(folder))
        ledger.create_table(TABLE, columns, partition_columns=by, location=str(folder))
        self._numbers = count()

    @property
    def schema(self) -> TableSchema:
        return TableSchema.of(self.ledger.table(TABLE).definition)

    def write(self, *rows: Row, data_change: bool = True) -> list[AddFile]:
        """Write rows into new files, not committed."""
        arrow = self.schema.arrow
        columns = zip(*rows, strict=True) if rows else [()] * len(arrow)
        arrays = [pa.array(each, field.type) for each, field in zip(columns, arrow, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=arrow)
        found = write_rows(self.storage, self.schema, [batch], writer=FileWriter.of("lake"))
        return [each._replace(data_change=data_change) for each in found]

    def insert(self, *rows: Row) -> list[AddFile]:
        """Commit rows in new files, and return the files."""
        files = self.write(*rows)
        self.ledger.append(TABLE, files)
        return files

    def replace(
        self, files: Iterable[AddFile], *rows: Row, operation: str = "DELETE"
    ) -> list[AddFile]:
        """Commit new files with these rows in the place of others."""
        made = self.write(*rows) if rows else []
        with self.ledger.transaction() as txn:
            txn.read(TABLE)
            txn.remove_files(TABLE, [file.path for file in files], operation=operation)
            txn.add_files(TABLE, made, operation=operation)
        return made

    def live(self, version: int) -> Sequence[FileRow]:
        return self.ledger.read(TABLE, version=version).files

    def rows(self, version: int) -> Counter[Row]:
        found = (read_file(self.storage, each, self.schema) for each in self.live(version))
        return Counter(row for table in found for row in tuples(table))


def tuples(table: pa.Table) -> list[Row]:
    return [tuple(map(plain, row.values())) for row in table.to_pylist()]


def plain(value: Any) -> Any:
    """Return a value that equals itself and can be hashed."""
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN
        return "NaN"
    if isinstance(value, Mapping):
        return tuple((name, plain(each)) for name, each in value.items())
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value
