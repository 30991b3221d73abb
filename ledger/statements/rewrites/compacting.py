"""Compaction: an OPTIMIZE in small steps, for a process that keeps many tables in order."""

from typing import Final, NamedTuple

from ledger.log.wire.file_list import AddFile
from ledger.statements.marking import ChangedFiles
from ledger.statements.rewrites.optimizing import chosen, groups, rewritten, within, written_anew
from ledger.statements.target import StatementTable


class CompactionBounds(NamedTuple):
    """What one compaction does: files of about `max_bytes` are written anew.

    Fewer than `min_files` small files of a partition stay as they are. The new files have about
    `target_bytes`.
    """

    max_bytes: int = 256 << 20
    min_files: int = 8
    target_bytes: int = 64 << 20


USUAL: Final = CompactionBounds()


def compact(table: StatementTable, bounds: CompactionBounds = USUAL) -> int:
    """Put the rows of small files, and of worn ones, into larger files; return the bytes replaced.

    A file is worn if many of its rows are deleted. Rows in the log are left to a flush.
    """
    table.check_listed()
    changed, adds = ChangedFiles(table), list[AddFile]()
    with table.kept(adds):
        files = [file for file in chosen(table, changed, None) if not file.rows]
        anew = written_anew(table, files)
        several = groups(files, anew, bounds.target_bytes, bounds.min_files)
        todo = list(within(several, bounds.max_bytes))
        rewritten(table, changed, todo, bounds.target_bytes, adds)
    if changed.files:
        changed.note_rewritten(adds)
    return sum(file.size for file in changed.files)
