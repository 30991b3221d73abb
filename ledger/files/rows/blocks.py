"""Blocks: rows in the log, as a stream of Arrow's IPC format with one batch.

Any library of Arrow reads such bytes. A block has the columns of a data file: their ids, and their
names and types when it was made. A txn may alter its table once it has written rows, so the block
says itself what its columns are. Blocks of one table mostly begin with the same bytes, the message
of their schema, which is decoded once.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import pyarrow as pa
from pyarrow import parquet as pq

from ledger.errors import UnreadableTableError
from ledger.files.rows.parquet_rows import blank
from ledger.keys.sealed_rows import opened
from ledger.log.wire.file_extras import TRIMMED

HEAD_BYTES: Final = 8
"""The mark of a message, and the length of its metadata."""

SCHEMAS_KNOWN: Final = 256
ODD: Final = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError)


def block_of(rows: pa.Table) -> bytes:
    """Return the block of some rows, with the columns of a data file."""
    batches = rows.combine_chunks().to_batches()
    batch = batches[0] if batches else pa.RecordBatch.from_pylist([], rows.schema)
    return bytes(rows.schema.serialize()) + bytes(batch.serialize())


def rows_of_block(path: str, block: bytes) -> pa.RecordBatch:
    """Return the rows of a block; `path` names it in the UnreadableTableError for other bytes.

    Encrypted rows raise as `opened`.
    """
    if block == TRIMMED:
        raise UnreadableTableError(
            f"the rows of {path} were removed, and then the log was trimmed above them: read a "
            "later version. A restored ledger has the trim too; only one from a backup that was "
            "taken before the trim still reads them"
        )
    block = opened(path, block)
    try:
        head = head_of(block)
        batch = pa.ipc.read_record_batch(pa.py_buffer(block).slice(len(head)), schema_in(head))
        batch.validate(full=True)
    except ODD as problem:
        raise UnreadableTableError(
            f"the rows of {path} in the log cannot be read as Arrow: {problem}. Another program "
            "wrote them; remove them from the table"
        ) from problem
    return batch


def head_of(block: bytes) -> bytes:
    """Return the message of its schema, with which a block in clear begins."""
    return block[: HEAD_BYTES + int.from_bytes(block[4:HEAD_BYTES], "little")]


def parquet_of(path: str, block: bytes) -> bytes:
    """Return the rows of a block as a file of Parquet, for readers that know no other format."""
    rows, out = pa.Table.from_batches([rows_of_block(path, block)]), pa.BufferOutputStream()
    pq.write_table(rows, out, store_schema=False)
    return bytes(out.getvalue())


@lru_cache(SCHEMAS_KNOWN)
def schema_in(message: bytes) -> pa.Schema:
    """Return the schema of the message with which a block begins; raises ArrowInvalid."""
    return pa.ipc.read_schema(pa.py_buffer(message))


class BlockRows:
    """The rows of a block for reads: one row group."""

    def __init__(self, path: str, block: bytes) -> None:
        self._batch = rows_of_block(path, block)
        self.arrow = self._batch.schema
        self.group_rows: Sequence[int] = [self._batch.num_rows]

    def batches(
        self, read: Sequence[int], groups: Sequence[int]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield top-level columns by their places, with the number of the first row."""
        if groups:
            yield 0, self._batch.select(list(read)) if read else blank(self._batch.num_rows)

    def close(self) -> None:
        """Do nothing: a block is in memory."""
