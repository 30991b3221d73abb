"""Many blocks read as few: to open one costs more than to read its rows."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from ledger.files.rows.blocks import block_of, head_of, rows_of_block
from ledger.reads.port import FileRow

JOINED_MAX: Final = 1_000


def joined_blocks(
    files: Iterable[FileRow], schema_then: Callable[[FileRow], Any]
) -> Iterator[FileRow]:
    """Yield files, with blocks of one partition and of the same columns put together.

    Such a block has the path of its first one. `schema_then` returns the schema of the table when a
    file was added. Blocks with deleted rows stay alone. Raises UnreadableTableError.
    """
    groups: dict[tuple[object, ...], list[FileRow]] = {}
    for file in files:
        if not file.rows or file.vector:
            yield file
            continue
        key = id(schema_then(file)), tuple(file.partition), head_of(file.rows)
        group = groups.setdefault(key, [])
        group.append(file)
        if len(group) == JOINED_MAX:
            yield joined(groups.pop(key))
    for group in groups.values():
        yield joined(group)


def joined(blocks: list[FileRow]) -> FileRow:
    """Return one block with the rows of some."""
    if len(blocks) == 1:
        return blocks[0]
    batches = [rows_of_block(block.path, block.rows) for block in blocks]
    data = block_of(pa.Table.from_batches(batches))
    return blocks[0]._replace(rows=data, size=len(data))
