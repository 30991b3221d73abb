"""Reads the committed rows of a table, file by file."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.client import Ledger
from ledger.definitions.names import TableLike
from ledger.files.data_reading import read_file
from ledger.files.storage import storage_at
from ledger.reads.rows import TableRow


def rows_of(ledger: Ledger, table: TableLike, key: str = "id") -> list[dict[str, Any]]:
    """Return the committed rows of a table in the order of a column."""
    found = ledger.read(table)
    schema = TableSchema.of(found.table.definition)
    storage = storage_at(found.table.definition.location)
    tables = [read_file(storage, each, schema) for each in found]
    rows = pa.concat_tables([schema.arrow.empty_table(), *tables]).to_pylist()
    return sorted(rows, key=lambda row: int(row[key]))


def stored(row: TableRow) -> set[str]:
    """Return the data files on disk."""
    root = Path(row.definition.location)
    return {each.relative_to(root).as_posix() for each in root.rglob("*.parquet")}
