"""Many blocks read as few: to open one costs more than to read its rows.

A process keeps what it joined. Blocks of one commit stand before blocks of a later one, and a group
ends behind a block that its path chooses: so an append, or a block that leaves, changes one group,
and a later read joins that one alone.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Any, Final
from zlib import crc32

import pyarrow as pa

from ledger.files.rows.blocks import block_of, head_of, rows_of_block
from ledger.keys.sealed_rows import opened
from ledger.log.wire.file_extras import is_sealed
from ledger.reads.port import FileRow

JOINED_MAX: Final = 1_000
ENDS_ONE_IN: Final = 256
KEPT_BYTES: Final = 64 << 20


class JoinedBlocks:
    """The groups that this process joined last, up to a number of bytes; threads may share it."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._blocks: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._turn = Lock()

    def of(self, blocks: list[FileRow]) -> bytes:
        """Return the one block that has the rows of some."""
        # Ledgers of one process may have equal paths, so the bytes name a block too.
        key = *[block.path for block in blocks], *[hash(block.rows) for block in blocks]
        with self._turn:
            if (kept := self._blocks.get(key)) is not None:
                self._blocks.move_to_end(key)
                return kept
        batches = [rows_of_block(block.path, block.rows) for block in blocks]
        made = block_of(pa.Table.from_batches(batches))
        with self._turn:
            if key not in self._blocks:
                self._blocks[key] = made
                self._size += len(made)
            while self._size > self._limit:
                self._size -= len(self._blocks.popitem(last=False)[1])
        return made


KEPT: Final = JoinedBlocks(KEPT_BYTES)


def joined_blocks(
    files: Iterable[FileRow], schema_then: Callable[[FileRow], Any]
) -> Iterator[FileRow]:
    """Yield files, with blocks of one partition and of the same columns put together.

    Such a block has the path of its first one. `schema_then` returns the schema of the table when a
    file was added. Blocks with deleted rows stay alone. Raises UnreadableTableError.
    """
    groups: dict[tuple[object, ...], list[FileRow]] = {}
    blocks = []
    for file in files:
        if file.rows and not file.vector:
            blocks.append(in_clear(file))
        else:
            yield file
    blocks.sort(key=added_then_path)
    for block in blocks:
        key = id(schema_then(block)), block.partition, head_of(block.rows)
        group = groups.setdefault(key, [])
        group.append(block)
        if len(group) == JOINED_MAX or not crc32(block.path.encode()) % ENDS_ONE_IN:
            yield joined(groups.pop(key))
    for group in groups.values():
        yield joined(group)


def in_clear(file: FileRow) -> FileRow:
    """Return a block with its rows in clear."""
    return file._replace(rows=opened(file.path, file.rows)) if is_sealed(file.rows) else file


def added_then_path(file: FileRow) -> tuple[int, str]:
    """Return the place of a block among the others."""
    return file.added, file.path


def joined(blocks: list[FileRow]) -> FileRow:
    """Return one block with the rows of some."""
    if len(blocks) == 1:
        return blocks[0]
    data = KEPT.of(blocks)
    return blocks[0]._replace(rows=data, size=len(data))
