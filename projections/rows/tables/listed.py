"""Listed: what each commit changed file by file, in the order in which the commit lists it.

A live file has the position of its add, and a removed one that of its removal, but neither says
whether the commit changed data, and no key leads from a commit to its files. So the list itself is
kept as it came, one row for each chunk. A list with an impossible add or remove, or one that
records present files again, is packed anew and then holds only what it changed. A list that cannot
be decoded has an anomaly and no row.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.core.events.parts import CommittedPart
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, chunks_of, pack
from projections.rows.applied import Applied
from projections.rows.keys import LISTED, triple_key
from projections.store.port import RowChange

# The files in one row of a list that is packed anew.
ROW_FILES: Final = 1_000


def list_rows(applied: Applied, part: CommittedPart) -> Iterator[RowChange]:
    """Return the rows of a list that changed what it says."""
    chunks = chunks_of(part, applied.ended.get(applied.control.txn))
    return numbered(part, [chunk.files for chunk in chunks])


def changed_rows(
    part: CommittedPart, adds: Sequence[AddFile], removes: Sequence[RemoveFile]
) -> Iterator[RowChange]:
    """Return the rows of a list that changed only these files."""
    lists = [FileList((), removes[at : at + ROW_FILES]) for at in range(0, len(removes), ROW_FILES)]
    lists += [FileList(adds[at : at + ROW_FILES]) for at in range(0, len(adds), ROW_FILES)]
    return numbered(part, [pack(each) for each in lists])


def numbered(part: CommittedPart, lists: Sequence[bytes]) -> Iterator[RowChange]:
    """Return the rows of packed lists, in order; an empty one needs no row."""
    for number, files in enumerate(filter(None, lists)):
        yield triple_key(LISTED, part.table, part.version, number), files
