"""Conditions of tests, as SQL text or expressions: as trees, in the wire form, and on rows."""

from contextlib import AbstractContextManager

import pyarrow as pa

from ledger.core.predicates.tree import TRUE, Node
from ledger.expressions.build import Expression, condition_in
from ledger.expressions.duckdb import conditions, evaluation
from ledger.expressions.duckdb.conditions import RowCondition, RowExpression, Schemas
from ledger.expressions.parse import parse

Where = str | Expression | None


def tree_of(where: Where) -> Node:
    """Return the tree of a condition; nothing said is TRUE."""
    return condition_in(where) or TRUE


def wire_of(where: Where) -> str:
    return tree_of(where).to_wire()


def predicate_tree(sql: str) -> str:
    """Return the wire form of a condition in Spark SQL."""
    return parse(sql).to_wire()


def row_condition(where: Where, schema: Schemas, zone: str = "") -> RowCondition:
    """Return a condition as DuckDB evaluates it."""
    return conditions.row_condition(condition_in(where), schema, zone)


def row_expression(text: str, schema: Schemas, *, target: pa.DataType) -> RowExpression:
    """Return a value as DuckDB evaluates it, cast to a type."""
    return conditions.row_expression(parse(text), schema).cast_to(target, "")


def failures_named(where: str) -> AbstractContextManager[None]:
    """Return a block in which rows that fail are an error with the condition."""
    return evaluation.failures_named(parse(where))
