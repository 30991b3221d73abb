"""Overwrites: which rows give way to the new ones.

A write replaces all rows of its table, those of a condition, or the partitions that get rows. The
verb says so, or an option.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from ledger.arrow.partition_rows import partition_scalar
from ledger.arrow.schema import TableSchema
from ledger.core.partitions.keys import reader
from ledger.core.predicates.sql_text import sql_of_node
from ledger.core.predicates.tree import (
    And,
    ColumnRef,
    Compare,
    Literal,
    Node,
    Or,
    Unknown,
    connected,
)
from ledger.core.predicates.types import STRING, parse_type
from ledger.definitions.partition_texts import PartitionColumn
from ledger.expressions.parse import parse
from ledger.log.wire.file_list import AddFile
from ledger.snapshot.overlay import file_row
from ledger.statements.deleting import Deletion, rows_in, wholly_fulfilled
from ledger.statements.inserting import fulfilling
from ledger.statements.target import StatementTable
from spark_sink.catalog.divisions import is_divided_alike
from spark_sink.catalog.options import OVERWRITE_MODE, REPLACE_WHERE, small
from spark_sink.catalog.read.conditions import NotUnderstoodError, condition_of
from spark_sink.catalog.session.open_statements import Question, unsupported

APPEND: Final = "append"
DYNAMIC: Final = "dynamic"
OVERWRITE: Final = "overwrite"
STATIC: Final = "static"
TRUNCATE: Final = "truncate"
WROTE: Final = "WRITE"
# With more partitions than this a dynamic overwrite reads the whole table.
PARTITIONS_MAX: Final = 50
NAN: Final = "NaN"


class RowsMeant(NamedTuple):
    """The rows that an overwrite replaces: those of a condition, or of whole partitions."""

    mode: str
    where: Node | None = None


def rows_meant(asked: Question) -> RowsMeant:
    """Return the rows that a write replaces, by its verb and its options; raises Refusal."""
    mode, options = str(asked["mode"]), small(asked.get("options", {}))
    where = options.get(REPLACE_WHERE.lower())
    partitions = options.get(OVERWRITE_MODE.lower(), "").lower()
    if partitions not in ("", STATIC, DYNAMIC):
        raise unsupported(f"{OVERWRITE_MODE} must be {STATIC} or {DYNAMIC}, got {partitions!r}")
    if where is not None and (mode != TRUNCATE or partitions == DYNAMIC):
        raise unsupported(
            f"{REPLACE_WHERE} must be the only condition of an overwrite, got {where!r} with "
            f"{partitions or mode}: use df.write.mode('overwrite').insertInto(...), or "
            "INSERT ... REPLACE WHERE"
        )
    if mode == DYNAMIC and partitions == STATIC:
        raise unsupported(
            f"{OVERWRITE_MODE} must be {DYNAMIC} where the session or the verb is so, got {STATIC}"
        )
    if where is not None:
        return RowsMeant(OVERWRITE, parse(where) if where else None)
    if mode == TRUNCATE and partitions == DYNAMIC:
        return RowsMeant(DYNAMIC)
    if mode != OVERWRITE:
        return RowsMeant(mode)
    try:
        return RowsMeant(mode, condition_of(asked["where"]))
    except NotUnderstoodError:
        raise unsupported("the condition of this overwrite cannot be judged exactly") from None


def zone_of(asked: Question) -> str | None:
    """Return the time zone of a condition that is given as text, None without one."""
    return str(asked["zone"]) if REPLACE_WHERE.lower() in small(asked.get("options", {})) else None


def check_meant(table: StatementTable, asked: Question) -> None:
    """Raise an error before any row is written, if it is not known which rows to replace."""
    meant = rows_meant(asked)
    if meant.mode == OVERWRITE:
        table.condition(meant.where)


def replace(table: StatementTable, meant: RowsMeant, adds: Sequence[AddFile]) -> int | None:
    """Put files in the place of all rows, of those of a condition, or of whole partitions.

    Return how many rows gave way, None if a file does not say how many it has.
    """
    if meant.mode == DYNAMIC and table.schema.partition_columns:
        files = in_partitions(table, adds)
        table.replace(files, adds, WROTE)
        counts = [rows_in(file) for file in files]
        return None if None in counts else sum(count or 0 for count in counts)
    with table.judge() as judge:
        gone = Deletion(table, judge, meant.where)
        kept = table.write(gone.kept(), placing=gone.changed.placing)
        if meant.where is not None:
            check_fulfilled(table, judge, meant.where, adds)
    gone.changed.note(kept, WROTE, adds)
    return gone.count


def check_fulfilled(
    table: StatementTable, judge: Any, where: Node, adds: Sequence[AddFile]
) -> None:
    """Raise ValueError for new rows outside the condition that they replace."""
    condition, read = table.condition(where), table.find(where, record=False)
    rows = [file_row(add, read) for add in adds]
    whole = wholly_fulfilled(table, judge, condition, rows)
    if whole is not None and all(whole.values()):
        return
    for row in rows:
        batches = table.rows(row).to_batches()
        for _ in fulfilling(table, judge, condition, batches):
            pass


def in_partitions(table: StatementTable, adds: Sequence[AddFile]) -> Sequence[Any]:
    """Return the files in the partitions of new files; only these count as read."""
    keys = [key_reader(table.schema, divider) for divider in table.schema.divided_by]

    def key(values: Sequence[str | None]) -> tuple[Any, ...]:
        return tuple(read(value) for read, value in zip(keys, values, strict=True))

    wanted = {key(add.partition): add.partition for add in adds}
    if not wanted:
        return []
    found = table.read(of_partitions(table, list(wanted.values())))
    for each in found:
        if not is_divided_alike(table.schema, table.snapshot.schema_of(each)):
            raise unsupported(
                f"file {each.path} of table {table.row.name} was written when the table was "
                "divided otherwise, and may have rows of the partitions to replace: overwrite with "
                "a condition, as INSERT INTO t REPLACE WHERE condition, or run OPTIMIZE first"
            )
    return [each for each in found if key(each.partition) in wanted]


def key_reader(schema: TableSchema, divider: PartitionColumn) -> Callable[[str | None], Any]:
    """Return what tells values of a partition column apart: NaN is NaN, and -0.0 is 0.0."""
    column = schema.find(divider.name)
    if column is None or not pa.types.is_floating(column.type):
        return reader(divider.type)

    def read(text: str | None) -> float | str | None:
        found: float | None = partition_scalar(text, column, "").as_py()
        return NAN if found is not None and math.isnan(found) else found

    return read


def of_partitions(table: StatementTable, partitions: Sequence[Sequence[str | None]]) -> Node | None:
    """Return the condition of some partitions; None stands for the whole table if they are many."""
    if len(partitions) > PARTITIONS_MAX:
        return None
    dividers = table.schema.divided_by
    return connected(
        Or,
        [
            connected(
                And,
                [
                    Compare("<=>", ColumnRef(divider.name), value_of(text, divider, table.schema))
                    for divider, text in zip(dividers, values, strict=True)
                ],
            )
            for values in partitions
        ],
    )


def value_of(text: str | None, divider: PartitionColumn, schema: TableSchema) -> Node:
    """Return the value of a partition column, unknown if no partition is judged by its type."""
    column = schema.find(divider.name)
    is_text = column is not None and pa.types.is_string(column.type)
    type_ = STRING if is_text else parse_type(divider.type)
    if type_ is not None:
        return Literal(text, str(type_))
    said = sql_of_node(Literal(text, "void" if text is None else "string"))
    return Unknown(f"CAST({said} AS {divider.type.upper()})", ())
