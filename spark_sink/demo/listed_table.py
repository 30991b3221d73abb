"""Listed tables on disk: the ledger knows their files, and a reader opens only those.

A file is written once, under a unique name, and never changed: a statement writes new files and
records in the ledger which files they replace. Files of an aborted txn are never listed.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ledger.log.file_list import AddFile
from ledger.reads.port import FileRow, TableRow
from ledger.sdk.transaction import Transaction
from spark_sink.demo.delta_folders import PARTITION, read
from spark_sink.demo.flights import NOTHING, Totals, totals_of

LONGER: Final = "distance"
"""The column to which an UPDATE of the demo adds 1, in every row."""
FILES_KEPT: Final = 10_000


def write_month(table: TableRow, month: int, rows: pa.Table) -> AddFile:
    """Write rows of a month to a file; only the path holds the partition column."""
    kept = [name for name in rows.column_names if name != PARTITION]
    return write_file(table, f"{PARTITION}={month}", rows.select(kept))._replace(
        partition=(str(month),)
    )


def write_file(table: TableRow, folder: str, rows: pa.Table) -> AddFile:
    """Write rows to a new file of a table, and return it as a commit adds it."""
    name = f"{folder}/{uuid4().hex}.parquet"
    path = path_of(table, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    found = path.stat()
    stats = json.dumps({"numRecords": rows.num_rows})
    return AddFile(name, (), found.st_size, found.st_mtime_ns // 1_000_000, stats=stats)


def path_of(table: TableRow, name: str) -> Path:
    """Return the path of a file of a table."""
    return Path(table.definition.location) / name


def update(txn: Transaction, table: TableRow, month: int) -> None:
    """Make every flight of a month one mile longer: UPDATE ... SET distance = distance + 1."""
    found = txn.read(table, f"{PARTITION} = {month}")
    rows = ds.dataset([str(path_of(table, each.path)) for each in found]).to_table()
    longer = pc.add(rows[LONGER], 1)
    rows = rows.set_column(rows.column_names.index(LONGER), LONGER, longer)
    txn.operation(table, "UPDATE")
    txn.remove_files(table, found)
    txn.add_files(table, [write_month(table, month, rows)])


def delete(txn: Transaction, table: TableRow, month: int) -> None:
    """Delete the flights of a month."""
    txn.remove_files(table, txn.read(table, f"{PARTITION} = {month}"))


def month_totals(table: TableRow, files: Iterable[FileRow]) -> dict[int, Totals]:
    """Return the sums over the rows of some files, by their month in the ledger.

    Raises OSError for a missing file.
    """
    found: dict[int, Totals] = {}
    for file in files:
        month = int(file.partition[0] or 0)
        totals = file_totals(path_of(table, file.path))
        found[month] = found.get(month, NOTHING).plus(totals)
    return found


@lru_cache(FILES_KEPT)
def file_totals(path: Path) -> Totals:
    """Return the sums over the rows of a file, which never changes."""
    return totals_of(read([path]))
