"""The files and rows that a part of a commit changes, as they count at its place in the log.

A commit lists what its writer did. Commits since its read may have put rows elsewhere or replaced
files: the event says what follows from that, and this module applies it.
"""

from collections.abc import Sequence

from ledger.core.commands import Footprint
from ledger.core.conflicts.footprints import path_hash
from ledger.core.events.parts import CommittedPart
from ledger.core.rows.bitmaps import bytes_of
from ledger.core.rows.changes import Marks
from ledger.log.wire.file_list import FileList
from ledger.log.wire.inline_vectors import marked, union_of


def changes_rows(part: CommittedPart, chunks: Sequence[Footprint]) -> bool:
    """Return whether a part marks rows, or counts otherwise than its writer said."""
    if part.translated or part.left_out:
        return True
    said = (chunk.rows for chunk in chunks if chunk.rows is not None)
    return any(rows.marks or rows.moved for rows in said)


def counted_files(part: CommittedPart, chunks: Sequence[Footprint], files: FileList) -> FileList:
    """Return the files of a part that count, with its marks of files that stay.

    A file that the commit itself adds has its marks in its vector. Raises ValueError for damaged
    bitmaps.
    """
    if not changes_rows(part, chunks):
        return files
    out = {path_hash(path) for path in part.left_out}
    removes = [each for each in files.removes if path_hash(each.path) not in out]
    marks: dict[str, list[bytes]] = {}
    for chunk in chunks:
        for path, rows in chunk.rows.marks if chunk.rows is not None else ():
            if path_hash(path) not in out:
                marks.setdefault(path, []).append(rows)
    for path, rows in part.translated:
        marks.setdefault(path, []).append(rows)
    rewritten = {moved.source for chunk in chunks if chunk.rows for moved in chunk.rows.moved}
    rewritten.update(each.path for each in removes if marks.pop(each.path, None) is not None)
    adds = [
        marked(each, union_of(marks.pop(each.path))) if each.path in marks else each
        for each in files.adds
        if path_hash(each.path) not in out
    ]
    left = [Marks(path, bytes_of(union_of(rows))) for path, rows in marks.items()]
    return FileList(adds, removes, files.info, left, frozenset(rewritten))
