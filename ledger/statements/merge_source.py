"""The source of a MERGE, and which part of the target its condition can concern."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from ledger.arrow.casts import by_name, fitted
from ledger.arrow.given_rows import opened
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.types import arrow_type, sql_type
from ledger.expressions.build import Expression, col

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
        self.rows = pa.table(arrays, names=[each.name for each in columns])


def read_of(on: Any, target: TableSchema, source: MergeSource) -> str | None:
    """Return a condition on the target that all matching rows fulfil, None = TRUE.

    It has the parts of the condition that name the target alone, and for a partition column that
    equals a column of the source the values that the source has.
    """
    if not isinstance(on, str):
        return None
    try:
        tree = parse_one(on, dialect="spark")
    except SqlglotError:
        return None
    parts = [text for each in conjuncts(tree) if (text := part_of(each, target, source))]
    return " AND ".join(f"({each})" for each in parts) or None


def conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of a condition that must all be true."""
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from conjuncts(tree.this)
        yield from conjuncts(tree.expression)
    else:
        yield tree


def part_of(tree: exp.Expr, target: TableSchema, source: MergeSource) -> str:
    """Return what a part of the condition says of the target alone, "" if nothing."""
    columns = list(tree.find_all(exp.Column))
    if columns and all(is_of(each, target, source, TARGET) for each in columns):
        return str(tree.transform(bare).sql(dialect="spark"))
    if isinstance(tree, exp.EQ):
        for mine, other in ((tree.left, tree.right), (tree.right, tree.left)):
            if not (isinstance(mine, exp.Column) and isinstance(other, exp.Column)):
                continue
            if is_of(mine, target, source, TARGET) and is_of(other, target, source, SOURCE):
                return values_in(mine.name, other.name, target, source)
    return ""


def bare(node: exp.Expr) -> exp.Expr:
    """Return a column without its qualifier, quoted, since a bare name could be a word of SQL."""
    return exp.column(node.name, quoted=True) if isinstance(node, exp.Column) else node


def is_of(column: exp.Column, target: TableSchema, source: MergeSource, side: str) -> bool:
    """Tell whether a column is of one side: by its qualifier, or as only that side has it."""
    if column.args.get("db") or column.args.get("catalog"):
        return False
    mine, others = (target, source.schema) if side == TARGET else (source.schema, target)
    if column.table:
        return column.table.lower() == side and mine.find(column.name) is not None
    return mine.find(column.name) is not None and others.find(column.name) is None


def values_in(mine: str, other: str, target: TableSchema, source: MergeSource) -> str:
    """Return that a partition column has one of the source's values, "" if that says nothing."""
    column, given = target.find(mine), source.schema.find(other)
    if column is None or given is None or column.name not in target.partition_columns:
        return ""
    if column.type != given.type or not is_named(column.type):
        return ""
    values = pc.unique(source.rows[given.name].combine_chunks()).drop_null()
    if len(values) > VALUES_MAX:
        return ""
    if not len(values):
        return "1 = 0"  # NULL equals nothing.
    found: Expression = col(column.name).isin(*values.to_pylist())
    return found.sql()


def is_named(kind: Any) -> bool:
    """Tell whether values of a type can be named one by one."""
    kinds = pa.types
    return bool(kinds.is_integer(kind) or kinds.is_string(kind) or kinds.is_date(kind))
