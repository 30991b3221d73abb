"""Statements as work of a txn: what each reads, adds and removes, file by file.

A table is partitioned by `part`. A ranged delete, update or merge rewrites the files of its window,
an insert adds a file to each partition of its window, an overwrite also removes those that are
there. OPTIMIZE puts the files of each partition that has several into one. The write of CAB inserts
what it selects from a range of its own table and deletes from the same range, in one txn.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from ledger.log.wire.file_list import AddFile
from ledger.reads.port import FileRow
from ledger.transaction.transaction import Transaction
from tests.benchmarks.workloads.recorded import BUCKETS, Statement

PARTITIONS: Final = BUCKETS
WINDOW: Final = 3
FILE_BYTES: Final = 1 << 20


class Work:
    """One statement of one stream; called once for each attempt, and counts them."""

    def __init__(self, statement: Statement, name: str) -> None:
        self.statement = statement
        self.name = name
        self.attempts = 0
        self._files = 0

    def __call__(self, txn: Transaction) -> None:
        """Read and write what the statement does."""
        self.attempts += 1
        {
            "insert": self._insert,
            "overwrite": self._overwrite,
            "merge": self._change,
            "delete": self._change,
            "update": self._change,
            "optimize": self._optimize,
            "alter": self._alter,
            "select": self._select,
            "cab": self._select_and_delete,
        }[self.statement.kind](txn)

    def _insert(self, txn: Transaction) -> None:
        files = [self._file(part) for part in window(self.statement.part)]
        txn.add_files(self.statement.table, files)

    def _overwrite(self, txn: Transaction) -> None:
        found = txn.read(self.statement.table, in_window(self.statement.part))
        if found.files:
            txn.remove_files(self.statement.table, found.paths)
        self._insert(txn)

    def _change(self, txn: Transaction) -> None:
        condition = f"{in_window(self.statement.part)} AND keep = 0"
        found = txn.read(self.statement.table, condition)
        self._rewrite(txn, found.files, self.statement.kind.upper())

    def _alter(self, txn: Transaction) -> None:
        txn.alter_table(self.statement.table, properties={"replayed": self.name})

    def _select(self, txn: Transaction) -> None:
        txn.read(self.statement.table, in_window(self.statement.part))

    def _optimize(self, txn: Transaction) -> None:
        several = [
            files
            for files in by_partition(txn.read(self.statement.table).files).values()
            if len(files) > 1
        ]
        if several:
            removes = [file.path for files in several for file in files]
            adds = [self._like(files[0], data_change=False) for files in several]
            txn.rewrite_files(self.statement.table, removes, adds)

    def _select_and_delete(self, txn: Transaction) -> None:
        found = txn.read(self.statement.table, f"part = {self.statement.part}")
        self._rewrite(txn, found.files, "DELETE")
        txn.add_files(self.statement.table, [self._file(self.statement.part)], operation="DELETE")

    def _rewrite(self, txn: Transaction, files: Sequence[FileRow], operation: str) -> None:
        table = self.statement.table
        txn.operation(table, operation)
        if files:
            txn.remove_files(table, [file.path for file in files], operation=operation)
            txn.add_files(table, [self._like(file) for file in files], operation=operation)

    def _like(self, row: FileRow, *, data_change: bool = True) -> AddFile:
        return self._named(tuple(row.partition), data_change=data_change)

    def _file(self, part: int) -> AddFile:
        return self._named((str(part),))

    def _named(self, partition: tuple[str | None, ...], *, data_change: bool = True) -> AddFile:
        self._files += 1
        path = f"part={partition[0]}/{self.name}-{self.attempts}-{self._files}.parquet"
        return AddFile(path, partition, FILE_BYTES, data_change=data_change)


def in_window(part: int) -> str:
    """Return the condition on the partitions of the numbered statement of a kind."""
    parts = window(part)
    return f"part >= {parts[0]} AND part <= {parts[-1]}"


def window(part: int) -> range:
    """Return the partitions of the numbered statement of a kind; windows repeat."""
    first = part * WINDOW % (PARTITIONS - WINDOW + 1)
    return range(first, first + WINDOW)


def by_partition(files: Sequence[FileRow]) -> dict[tuple[str | None, ...], list[FileRow]]:
    found: dict[tuple[str | None, ...], list[FileRow]] = defaultdict(list)
    for file in files:
        found[tuple(file.partition)].append(file)
    return found


def tag_of(path: str) -> str:
    """Return the name of the statement, and its attempt, that wrote a file."""
    return path.rpartition("/")[2].rpartition("-")[0]


def tags(paths: Sequence[str]) -> Iterator[str]:
    """Return the names of the statements that wrote files, each once."""
    return iter(dict.fromkeys(tag_of(path).rpartition("-")[0] for path in paths))
