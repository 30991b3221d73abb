"""FLUSH: the rows of a table that lie in the log, in files. No row changes."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, Final

import pyarrow as pa

from ledger.core.conflicts.operations import FLUSH
from ledger.files.rows.blocks import block_of, head_of, rows_of_block
from ledger.keys.sealed_rows import opened
from ledger.log.wire.file_list import AddFile
from ledger.reads.rows import FileRow
from ledger.statements.marking import ChangedFiles
from ledger.statements.rewrites.optimizing import RewrittenFiles, check_partitions, chosen
from ledger.statements.target import StatementTable

RUN_BYTES: Final = 16 << 20


def flush(table: StatementTable) -> RewrittenFiles:
    """Put the rows of all blocks of a table into one file for each partition, in their order.

    The commit says where the rows are, so marks that other statements make meanwhile go with them.
    Blocks that the txn itself wrote stay.
    """
    table.check_listed()
    changed, adds = ChangedFiles(table), list[AddFile]()
    with table.kept(adds):
        blocks = [each for each in chosen(table, changed, None) if each.rows]
        for inside in by_partition(blocks):
            rows = copied(table, changed, inside)
            adds += table.write(rows, placing=changed.placing, has_blocks=False)
    if changed.files:
        changed.note_rewritten(adds, FLUSH)
    return RewrittenFiles(len(changed.files), len(adds))


def by_partition(blocks: list[FileRow]) -> list[list[FileRow]]:
    """Return blocks by partition, each in the order in which the rows came."""
    found: dict[tuple[str | None, ...], list[FileRow]] = {}
    for block in sorted(blocks, key=lambda block: (block.added, block.path)):
        found.setdefault(tuple(block.partition), []).append(block)
    return list(found.values())


def copied(
    table: StatementTable, changed: ChangedFiles, blocks: Sequence[FileRow]
) -> Iterator[Any]:
    """Yield the rows of blocks of one partition: to open a block costs more than to read it."""
    for run in runs(table, blocks):
        files = [block for block, _ in run]
        batches = [rows_of_block(block.path, rows) for block, rows in run]
        joined = block_of(pa.Table.from_batches(batches))
        rows = table.rows(files[0]._replace(rows=joined))
        check_partitions(table.schema, rows)
        counts = [batch.num_rows for batch in batches] if len(run) > 1 else [len(rows)]
        yield changed.rewrite(files, counts, rows)


def runs(
    table: StatementTable, blocks: Sequence[FileRow]
) -> Iterator[Sequence[tuple[FileRow, bytes]]]:
    """Yield neighbours that can be read as one, each with its rows in clear.

    They have the same columns, and no deleted rows.
    """
    then = table.snapshot.schema_of
    ends = accumulate(len(block.rows) for block in blocks)
    in_clear = ((block, opened(block.path, block.rows)) for block in table.shown(blocks))

    def kind(place: tuple[tuple[FileRow, bytes], int]) -> tuple[object, ...]:
        (block, rows), end = place
        alone = block.path if block.vector else ""
        return alone, end // RUN_BYTES, head_of(rows), then(block)

    for _, run in groupby(zip(in_clear, ends, strict=True), kind):
        yield [each for each, _ in run]
