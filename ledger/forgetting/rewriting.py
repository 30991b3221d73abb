"""FORGET: takes rows out of all files that hold them, and the log gets none of their values.

A DELETE may only mark rows, and its commit has its condition. This statement writes each file anew
that has such a row, also a row that is marked already. The commit names the files alone: a row that
another txn adds meanwhile stays, and no earlier commit wins but one that changed the same files.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ledger.core.predicates.tree import Node
from ledger.expressions.bounds import file_may_hold
from ledger.expressions.duckdb.conditions import RowCondition
from ledger.reads.row_counts import ChangedRows
from ledger.reads.rows import FileRow
from ledger.snapshot.table_snapshot import TableSnapshot
from ledger.statements.judge import RowJudge
from ledger.statements.target import StatementTable


def forget(table: StatementTable, where: Node) -> ChangedRows:
    """Write the files anew that hold rows of a condition, without these rows.

    Returns how many of the rows were there for readers.
    """
    table.check_listed()
    work = Forgetting(table, where)
    with table.judge() as judge:
        adds = table.write(work.kept(judge))
    table.replace(work.files, adds, "DELETE")
    return table.counted(ChangedRows(deleted=work.count))


class Forgetting:
    """The files that give way, whole after `kept` has ended, and how many rows readers lose."""

    def __init__(self, table: StatementTable, where: Node) -> None:
        self.files: list[FileRow] = []
        self.count = 0
        self._table, self._where = table, where
        self._condition: RowCondition = table.condition(where)

    def kept(self, judge: RowJudge) -> Iterator[Any]:
        """Yield the rows that stay of each file that holds a row of the condition."""
        table = self._table
        found = table.find(None, record=False).files
        for file in table.shown(found):
            if not may_hold(table.snapshot, file, self._where):
                continue
            if not pc.any(judge.fulfilled(table.rows(unmarked(file)), self._condition)).as_py():
                continue
            rows = table.rows(file)
            hit = judge.fulfilled(rows, self._condition)
            self.files.append(file)
            self.count += pc.sum(hit).as_py() or 0
            stay: pa.Table = rows.filter(pc.invert(hit))
            if len(stay):
                yield stay


def may_hold(snapshot: TableSnapshot, file: FileRow, where: Node) -> bool:
    """Return whether a file may hold a row of a condition, among deleted rows too.

    The bounds of a file with a vector may be of the rows that are left.
    """
    if file.vector:
        return True
    return file_may_hold(where.in_zone(snapshot.zone), file, snapshot.schema, snapshot.schema_of)


def unmarked(file: FileRow) -> FileRow:
    """Return a file with all rows that were ever written to it."""
    return file._replace(vector="", deletion_vector=None)
