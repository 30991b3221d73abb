"""FLUSH: the rows of a table that lie in the log, in files. No row changes."""

from ledger.files.data_files import TARGET_BYTES
from ledger.log.wire.file_list import AddFile
from ledger.reads.rows import FileRow
from ledger.statements.marking import ChangedFiles
from ledger.statements.rewrites.optimizing import RewrittenFiles, chosen, rewritten
from ledger.statements.target import StatementTable

FLUSH = "FLUSH"


def flush(table: StatementTable) -> RewrittenFiles:
    """Put the rows of all blocks of a table into one file for each partition, in their order.

    The commit says where the rows are, so marks that other statements make meanwhile go with them.
    Blocks that the txn itself wrote stay.
    """
    table.check_listed()
    changed, adds = ChangedFiles(table), list[AddFile]()
    with table.kept(adds):
        blocks = [each for each in chosen(table, changed, None) if each.rows]
        rewritten(table, changed, by_partition(blocks), TARGET_BYTES, adds)
    if changed.files:
        changed.note_rewritten(adds, FLUSH)
    return RewrittenFiles(len(changed.files), len(adds))


def by_partition(blocks: list[FileRow]) -> list[list[FileRow]]:
    """Return blocks by partition, each in the order in which the rows came."""
    found: dict[tuple[str | None, ...], list[FileRow]] = {}
    for block in sorted(blocks, key=lambda block: (block.added, block.path)):
        found.setdefault(tuple(block.partition), []).append(block)
    return list(found.values())
