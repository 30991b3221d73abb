"""The source of a MERGE, and which part of the target its condition can concern."""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.casts import by_name, fitted
from ledger.arrow.given_rows import opened
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.types import arrow_type, sql_type
from ledger.core.predicates.sql_text import sql_of_node
from ledger.core.predicates.tree import (
    And,
    ColumnRef,
    Compare,
    Node,
    RowForm,
    Unknown,
    connected,
    fits,
    judged,
    shown_unknown,
    walked,
)
from ledger.expressions.build import col, condition_in, lit
from ledger.expressions.parse import parse
from ledger.expressions.row_forms import QualifiedColumn

TARGET: Final = "target"
SOURCE: Final = "source"
"""The names that qualify columns in the texts of a MERGE."""

VALUES_MAX: Final = 1000
"""With more values the partitions of the target are not named one by one."""


class MergeSource:
    """The rows of a source, in the types that Spark has for them."""

    def __init__(self, rows: Any, target: TableSchema) -> None:
        given = opened(rows, target).read_all()
        by_name(given.column_names, "the source")
        columns, arrays = [], []
        for field in given.schema:
            type_ = arrow_type(sql_type(field.type, field.name), field.name)
            array = given.column(field.name).combine_chunks()
            arrays.append(fitted(array, type_, field.name))
            columns.append(
                TableColumn(
                    field.name,
                    type_,
                    nullable=True,
                    id=0,
                    physical=field.name,
                    declared=str(sql_type(type_)),
                )
            )
        self.schema = TableSchema(tuple(columns), (), name="of the source")
        self.rows = pa.table(arrays, names=[column.name for column in columns])


def condition_on(on: Any, target: TableSchema, source: MergeSource) -> Node | None:
    """Return the condition of a MERGE; it is judged by the columns of the target alone."""
    if not isinstance(on, str):
        return condition_in(on)

    def own_name(names: Sequence[str]) -> str | None:
        return names[-1] if is_of(names, TARGET, target, source.schema) else None

    return parse(on, own_name)


def read_of(
    on: Node, target: TableSchema, source: MergeSource, *, any_column: bool = False
) -> Node | None:
    """Return a condition on the target that all matching rows fulfil, None = TRUE.

    It has the parts of the condition that name the target alone, and for a partition column that
    equals a column of the source the values that the source has; with `any_column`, for others too.
    """
    known = judged(on)
    parts = known.parts if isinstance(known, And) else (known,)
    found = [
        part for each in parts if (part := part_of(each, target, source, any_column=any_column))
    ]
    read = connected(And, found) if found else None
    return read if read is None or fits(read) else shown_unknown(sql_of_node(read))


def part_of(
    part: Node, target: TableSchema, source: MergeSource, *, any_column: bool
) -> Node | None:
    """Return what a part of the condition says of the target alone, None if nothing."""
    others = [each for each in walked(part) if isinstance(each, Unknown) and each.names is None]
    if not others:
        return part if part.columns() else None
    match part:
        case Compare("=", left, right):
            for mine, other in ((left, right), (right, left)):
                names = names_of(other)
                if isinstance(judged(mine), ColumnRef) and is_of(
                    names, SOURCE, source.schema, target
                ):
                    name = mine.columns()[0]
                    return values_in(name, names[-1], target, source, any_column=any_column)
    return None


def names_of(node: Node) -> Sequence[str]:
    """Return the name of a column with its qualifiers, () for anything but a column."""
    match node.rows if isinstance(node, RowForm) else node:
        case ColumnRef(name):
            return (name,)
        case QualifiedColumn(names):
            return names
    return ()


def is_of(names: Sequence[str], side: str, mine: TableSchema, others: TableSchema) -> bool:
    """Tell whether a column is of one side: by its qualifier, or as only that side has it."""
    match names:
        case (name,):
            return mine.find(name) is not None and others.find(name) is None
        case (table, name):
            return table.lower() == side and mine.find(name) is not None
    return False


def values_in(
    mine: str, other: str, target: TableSchema, source: MergeSource, *, any_column: bool
) -> Node | None:
    """Return that a column has one of the source's values, None if that says nothing.

    For a partition column, or with `any_column` for any other; too many values of such a one are
    named by their bounds.
    """
    column, given = target.find(mine), source.schema.find(other)
    if column is None or given is None or column.type != given.type:
        return None
    is_inside = column.name in target.partition_columns
    is_known = is_named(column.type) or (not is_inside and is_ordered(column.type))
    if not (is_known and (is_inside or any_column)):
        return None
    values = pc.unique(source.rows[given.name].combine_chunks()).drop_null()
    if not len(values):
        return condition_in(lit(1) == lit(0))  # NULL equals nothing.
    if len(values) <= VALUES_MAX:
        return condition_in(col(column.name).isin(*values.to_pylist()))
    if is_inside:
        return None
    bounds = pc.min_max(values)
    lowest, highest = bounds["min"].as_py(), bounds["max"].as_py()
    return condition_in((col(column.name) >= lowest) & (col(column.name) <= highest))


def is_ordered(kind: Any) -> bool:
    """Tell whether values of a type, which a text names badly, can be named in a condition."""
    kinds = pa.types
    return bool(kinds.is_decimal(kind) or kinds.is_timestamp(kind))


def is_named(kind: Any) -> bool:
    """Tell whether values of a type can be named one by one."""
    kinds = pa.types
    return bool(kinds.is_integer(kind) or kinds.is_string(kind) or kinds.is_date(kind))
