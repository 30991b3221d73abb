"""DELETE: the rows that fulfil a condition. A row for which the condition is NULL stays."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ledger.core.predicates.tree import Node
from ledger.expressions.duckdb.conditions import RowCondition
from ledger.log.wire.file_list import AddFile
from ledger.reads.row_counts import ChangedRows
from ledger.reads.rows import FileRow
from ledger.statements.judge import RowJudge
from ledger.statements.marking import ChangedFiles
from ledger.statements.target import StatementTable, partition_rows


def delete(table: StatementTable, where: Node | None = None) -> ChangedRows:
    """Delete the rows that fulfil a condition, without it all rows."""
    table.check_listed()
    with table.judge() as judge:
        gone = Deletion(table, judge, where)
        adds = table.write(gone.kept(), placing=gone.changed.placing)
    gone.changed.note(adds, "DELETE")
    return table.counted(ChangedRows(deleted=gone.count))


class Deletion:
    """A deletion in progress.

    Attributes:
        changed: the files that change, whole after `kept` has ended.
        count: how many rows are deleted, None if a whole file does not say how many it has.
    """

    def __init__(self, table: StatementTable, judge: RowJudge, where: Node | None) -> None:
        self.count: int | None = 0
        self._table = table
        self._judge = judge
        self._where, self._condition = where, table.condition(where)
        self.changed = ChangedFiles(table, self._condition.columns)
        self._found = self.changed.read(where)

    def kept(self) -> Iterator[Any]:
        """Yield the rows that stay of files that lose some of their rows.

        A condition on partition columns alone is judged once for each partition, and reads no file.
        """
        whole = wholly_fulfilled(self._table, self._judge, self._condition, self._found)
        for file in self._table.shown(self._found):
            if whole is not None:
                if whole[tuple(file.partition)]:
                    self.changed.gone(file)
                    self._count(rows_in(file))
                continue
            rows, numbers = self.changed.rows(file, self._where)
            hit = self._judge.fulfilled(rows, self._condition)
            gone = pc.sum(hit).as_py() or 0
            if gone:
                self._count(gone)
                yield from self.changed.change(file, rows, hit, numbers)

    def _count(self, rows: int | None) -> None:
        self.count = None if rows is None or self.count is None else self.count + rows


def wholly_fulfilled(
    table: StatementTable, judge: RowJudge, condition: RowCondition, files: Sequence[FileRow]
) -> dict[tuple[str | None, ...], bool] | None:
    """Return which partitions fulfil a condition, None if the rows themselves decide."""
    inside = set(table.schema.partition_columns)
    if not inside.issuperset(condition.columns):
        return None
    if condition.sql == "TRUE":
        return dict.fromkeys((tuple(file.partition) for file in files), True)
    partitions = table.partitions(files)
    if partitions is None:
        return None
    rows = (
        partition_rows(table, list(partitions))
        if inside
        else pa.table({"_": [0] * len(partitions)})
    )
    hits = judge.fulfilled(rows, condition).to_pylist()
    return dict(zip(partitions, hits, strict=True))


def rows_in(file: FileRow | AddFile) -> int | None:
    """Return how many rows a file has by its statistics, None if they do not say."""
    try:
        count = json.loads(file.stats).get("numRecords") if file.stats else None
    except (ValueError, AttributeError, RecursionError):
        return None
    if not isinstance(count, int):
        return None
    gone = file.deletion_vector.cardinality if file.deletion_vector is not None else 0
    return count - gone if gone or not file.vector else None
