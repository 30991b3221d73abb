"""A table of files for tests of scans: rows go into files by hand, as another program's would."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.client import Ledger
from ledger.files.data_files import write_rows
from ledger.files.file_writers import FileWriter
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile
from ledger.session.receipt import Receipt

Rows = Sequence[Mapping[str, Any]]
FLIGHTS = [("id", "bigint"), ("month", "int"), ("carrier", "string"), ("delay", "double")]


class Lake:
    """A ledger, and a folder below which its tables lie."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self.ledger, self.folder = ledger, folder

    def create(self, name: str, columns: Sequence[tuple[str, str]], by: Sequence[str] = ()) -> str:
        location = str(self.folder / name)
        self.ledger.create_table(name, columns, location=location, partition_columns=list(by))
        return name

    def append(self, name: str, rows: Rows, *, writer: str = "w") -> Receipt:
        """Write rows into files of a table's present schema, and commit them."""
        return self.ledger.append(name, self.files(name, rows, writer=writer))

    def files(self, name: str, rows: Rows, *, writer: str = "w") -> Sequence[AddFile]:
        """Write rows into files of a table's present schema, and return them."""
        row = self.ledger.table(name)
        schema = TableSchema.of(row.definition, row.name, row.table)
        data = pa.Table.from_pylist(list(rows), schema=schema.arrow)
        version = row.version if row else 0
        storage = storage_at(row.definition.location)
        by = FileWriter.of(writer, version)
        return write_rows(storage, schema, data.to_batches(), writer=by)

    def remove_data(self, name: str, *paths: str) -> None:
        """Delete data files without the ledger."""
        for path in paths:
            (self.folder / name / path).unlink()


def flights() -> list[dict[str, Any]]:
    """Return rows of three months, with NULLs and NaN."""
    return [
        {"id": 1, "month": 1, "carrier": "AA", "delay": 1.5},
        {"id": 2, "month": 1, "carrier": None, "delay": None},
        {"id": 3, "month": 2, "carrier": "UA", "delay": float("nan")},
        {"id": 4, "month": None, "carrier": "UA", "delay": -2.0},
    ]
