"""Noted rows: what the statements of one txn did in a table row by row, until its commit.

A marked file stays where it is. The txn itself sees it with the vector that it will have, as a
pair of the file before and after.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ledger.core.partitions.names import partition_text
from ledger.core.rows.bitmaps import RowSet, bytes_of, rows_from, rows_in
from ledger.core.rows.changes import AddedRows, Marks, Moved, RowChanges
from ledger.log.wire.file_list import AddFile
from ledger.log.wire.inline_vectors import marked
from ledger.reads.rows import FileRow

Pair = tuple[FileRow, AddFile]


@dataclass(slots=True)
class StatementRows:
    """What one statement did row by row.

    Attributes:
        marks: the rows that it deleted or changed, by path.
        read: the rows that it matched and left.
        moved: where the rows of rewritten files are.
        added: what it states of its new rows.
        told: the files of which it stated all new rows.
        pairs: the marked files that stay, as read and with their new vectors.
    """

    marks: dict[str, RowSet] = field(default_factory=dict)
    read: dict[str, RowSet] = field(default_factory=dict)
    moved: Sequence[Moved] = ()
    added: Sequence[AddedRows] = ()
    told: Sequence[str] = ()
    pairs: list[Pair] = field(default_factory=list)


class NotedRows:
    """The rows of all statements of a txn in one table."""

    def __init__(self) -> None:
        self._marks: dict[str, RowSet] = {}
        self._read: dict[str, RowSet] = {}
        self._moved: list[Moved] = []
        self._added: list[AddedRows] = []
        self._told: set[str] = set()
        self._pairs: dict[str, Pair] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no statement did anything row by row."""
        return not (self._marks or self._moved or self._told or self._read)

    @property
    def pairs(self) -> Iterable[Pair]:
        """The marked files that stay, as they were committed and with their new vectors."""
        return self._pairs.values()

    def take(self, rows: StatementRows) -> None:
        """Take in what a statement did."""
        join(self._marks, rows.marks)
        join(self._read, rows.read)
        self._moved += rows.moved
        self._added += rows.added
        self._told.update(rows.told)
        for file, after in rows.pairs:
            first, _ = self._pairs.get(file.path, (file, after))
            self._pairs[file.path] = first, after

    def unmarked(self, file: FileRow) -> FileRow:
        """Return a file that gives way as it was committed, without marks of this txn."""
        known = self._pairs.get(file.path)
        if known is None or known[1].vector != file.vector:
            return file
        del self._pairs[file.path]
        return known[0]

    def take_back(self, paths: Iterable[str]) -> None:
        """Forget where rows are that lay in own files for a while: all their rows count as changed.

        The rows are in other files of the txn by now.
        """
        gone = set(paths)
        sources = {each.source: each for each in self._moved if each.target in gone}
        for source, moved in sources.items():
            size = moved.rows + len(rows_in(moved.stayed))
            join(self._marks, {source: rows_from(0, size)})
        self._moved = [each for each in self._moved if each.source not in sources]

    def changes(self, scanned: bytes, adds: Sequence[AddFile]) -> RowChanges | None:
        """Return all of it for the commit, None if the txn knows files alone.

        `scanned` are hashes of paths; `adds` are the files that the commit adds.
        """
        if not (scanned or self._marks or self._moved or self._told):
            return None
        known = {each.partition: each for each in self._added if not each.columns}
        untold = (partition_text(add.partition) for add in adds if add.path not in self._told)
        plain = {text: AddedRows(text, (), (), "", "") for text in untold}
        return RowChanges(
            [Marks(path, bytes_of(rows)) for path, rows in self._marks.items()],
            [Marks(path, bytes_of(rows)) for path, rows in self._read.items()],
            scanned,
            self._moved,
            [*(each for each in self._added if each.columns), *{**known, **plain}.values()],
        )


def with_marks(file: FileRow, rows: RowSet) -> AddFile:
    """Return a file as it is once rows of it are marked; raises ValueError for an odd vector."""
    return marked(added_again(file), rows)


def added_again(file: FileRow) -> AddFile:
    """Return a file as a commit adds it again."""
    return AddFile(
        path=file.path,
        partition=tuple(file.partition),
        size=file.size,
        modified=file.modified,
        stats=file.stats,
        vector=file.vector,
        deletion_vector=file.deletion_vector,
        tags=file.tags,
        rows=file.rows,
    )


def join(known: dict[str, RowSet], more: dict[str, RowSet]) -> None:
    """Add rows of files to known ones."""
    for path, rows in more.items():
        known[path] = known[path] | rows if path in known else rows
