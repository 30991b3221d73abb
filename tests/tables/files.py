"""Data files for tests: Parquet with and without ids, and deletion vectors."""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from ledger.arrow.schema import TableSchema
from ledger.core.commands import Column, Property, TableDefinition
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.inline_vectors import MAGIC, encoded
from ledger.reads.port import FileRow

VECTORS = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


def file_row(
    path: str,
    partition: Sequence[str | None] = (),
    *,
    vector: DeletionVector | None = None,
    stats: str = "",
) -> FileRow:
    return FileRow(
        table=1,
        path=path,
        vector=vector.id if vector else "",
        partition=tuple(partition),
        size=0,
        modified=0,
        stats=stats,
        added=1,
        version=1,
        removed=0,
        deletion_vector=vector,
    )


def schema_of(*columns: Column, by: Iterable[str] = (), mode: str = "") -> TableSchema:
    properties = [Property("delta.columnMapping.mode", mode)] if mode else []
    definition = TableDefinition("managed", "listed", "/t", columns, list(by), properties)
    return TableSchema.of(definition, "db.t", 1)


def column(name: str, kind: str, number: int = 0, metadata: str = "") -> Column:
    return Column(name, kind, nullable=True, id=number, metadata=metadata)


def parquet(folder: Path, name: str, table: pa.Table, **options: Any) -> str:
    """Write a file below a folder, and return its name."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / name, **options)
    return name


def bits_of(rows: Iterable[int]) -> bytes:
    """Return the bitmap of rows as Delta writes it."""
    return struct.pack("<i", MAGIC) + BitMap64(list(rows)).serialize()


def inline_vector(rows: Sequence[int]) -> DeletionVector:
    """Return a vector that the log holds itself."""
    bits = bits_of(rows)
    return DeletionVector("i", encoded(bits), None, len(bits), len(rows))


def stored_vector(folder: Path, rows: Sequence[int], prefix: str = "") -> DeletionVector:
    """Write a vector behind another one into a file below a folder, and return it."""
    name = f"{prefix}/" if prefix else ""
    path = folder / f"{name}deletion_vector_{VECTORS}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    data, start = b"\1", 0
    for bits in (bits_of([7]), bits_of(rows)):
        start = len(data)
        data += struct.pack(">i", len(bits)) + bits + struct.pack(">I", crc32(bits))
    path.write_bytes(data)
    place = f"{prefix}{encoded(VECTORS.bytes)}"
    return DeletionVector("u", place, start, len(bits_of(rows)), len(rows))
