"""Which of some stored files tables need, and whether a writer may still commit one.

A table needs its live files, and those that it removed so late that a snapshot of an open txn or
the retention protects them. A dropped table needs its last files for as long.
"""

from collections.abc import Collection, Iterable
from typing import Final

from ledger.errors import FileListError
from ledger.files.file_writers import FileWriter, writer_of
from ledger.files.places import FileKeys
from ledger.files.storage import StoredFile
from ledger.reads.port import FileRow, Reads, TableRow, TxnRow
from ledger.snapshot.changes import unreadable
from ledger.snapshot.reading import is_in_folders

UNSURE_H: Final = 24.0
"""The least age of a file that no commit named, if its writer is not a txn that has ended."""

HOUR_MS: Final = 3_600_000
SKEW_MS: Final = 60_000
PAGE: Final = 10_000
TXNS: Final = 100_000


class NeededFiles:
    """The files that all tables need, among the ones with `wanted` keys.

    What was removed, or dropped, at the time `horizon` or before is needed for snapshots alone. The
    tables of `kept_whole` need their last files, however long ago they were dropped.
    """

    def __init__(
        self,
        reads: Reads,
        keys: FileKeys,
        wanted: Collection[int],
        horizon: int,
        kept_whole: Collection[int],
    ) -> None:
        self._reads = reads
        self._keys = keys
        self._wanted = wanted
        self._horizon = max(1, horizon)
        self._kept_whole = kept_whole
        self._needed: set[int] = set()
        self._seen: dict[int, int] = {}
        self.dead: set[int] = set()
        """The dropped tables that need nothing any more."""

    def are_free(self, keys: Iterable[int]) -> bool:
        """Return whether no table needs the file with these keys."""
        return self._needed.isdisjoint(keys)

    def note_later(self) -> None:
        """Note the files that commits named since the last look, in all tables."""
        for table in self._reads.tables(include_dropped=True):
            if is_in_folders(table) or table.creator or table.table in self.dead:
                continue
            if table.table not in self._seen:
                self._note_first(table)
            if self._seen.get(table.table, table.version) < table.version:
                self._note_changes(table)

    def _note_first(self, table: TableRow) -> None:
        """Note the live files of a table; of a dropped one, those that it had in the end."""
        if table.dropped and self._is_dead(table):
            self.dead.add(table.table)
            if table.table not in self._kept_whole:
                return
        check_decoded(self._reads, table)
        position = table.dropped - 1 if table.dropped else self._reads.position()
        self._seen[table.table] = self._protected_from(table)
        path = vector = ""
        while True:
            page = self._reads.files(
                table.table, position=position, limit=PAGE, path=path, vector=vector
            )
            for file in page:
                self._note(table, file)
            if len(page) < PAGE:
                return
            path, vector = page[-1].path, page[-1].vector

    def _note_changes(self, table: TableRow) -> None:
        """Note what the versions behind the last seen one added and removed."""
        first, place = self._seen[table.table] + 1, 0
        while True:
            page = self._reads.file_changes(table.table, first, table.version, PAGE, place=place)
            for change in page:
                self._note(table, change.file)
            if len(page) < PAGE:
                break
            first, place = page[-1].version, page[-1].place
        self._seen[table.table] = table.version

    def _is_dead(self, table: TableRow) -> bool:
        """Return whether a table was dropped so early that nothing needs its files."""
        (event,) = self._reads.history(table.dropped - 1, 1)
        is_old = event.at <= self._horizon
        return is_old and self._reads.table_mark(table.table).position >= table.dropped

    def _protected_from(self, table: TableRow) -> int:
        """Return the version whose removals, and earlier ones, nothing protects any more."""
        old = self._reads.version_row(table.table, at=self._horizon)
        mark = self._reads.table_mark(table.table).version
        return min(mark, -1 if old is None else old.version)

    def _note(self, table: TableRow, file: FileRow) -> None:
        keys = self._keys.of(table.definition.location, file.path)
        self._needed.update(key for key in keys if key in self._wanted)


class Owners:
    """Says whether a file that no commit named may still be committed."""

    def __init__(self, reads: Reads, now_ms: int, grace_ms: int) -> None:
        self._reads = reads
        self._ledger = reads.identity().ledger
        writing = [txn.opened_at for txn in reads.open_txns(TXNS) if txn.type != "read_only"]
        unsure = now_ms - max(grace_ms, round(UNSURE_H * HOUR_MS))
        self._before = min([unsure, *(each - SKEW_MS for each in writing)])
        self._known: dict[int, TxnRow | None] = {}

    def may_commit(self, file: StoredFile) -> bool:
        """Return whether the writer of a file may still commit it.

        Only the mark in its name says that a txn of this ledger wrote it: other ledgers number
        their txns alike.
        """
        writer = writer_of(file.path)
        if writer is not None and writer.txn:
            if writer.txn not in self._known:
                self._known[writer.txn] = self._reads.txn(writer.txn)
            txn = self._known[writer.txn]
            if txn is not None and txn.status == "open":
                return True
            if txn is not None and writer == self._writer(txn):
                return False
        return file.modified > self._before

    def _writer(self, txn: TxnRow) -> FileWriter:
        return FileWriter.of(self._ledger, txn.txn, txn.opened, txn.opened_at)


def check_decoded(reads: Reads, table: TableRow) -> None:
    """Raise FileListError if a commit of a table has a list that cannot be decoded."""
    found = unreadable(reads, table.table, 0, reads.position())
    if found:
        raise FileListError(
            f"the commit at position {found} of table {table.name} has a file list that cannot be "
            "decoded, so files that it added may look like orphans. Nothing was deleted"
        )
