"""Which values a column takes: Spark's rules of ANSI mode for what is stored."""

from typing import Any

from pyarrow import types as kinds

from ledger.arrow.casts import is_list, is_text
from ledger.arrow.schema import TableColumn
from ledger.arrow.types import sql_type
from ledger.core.predicates.tree import Node
from ledger.expressions.duckdb.conditions import RowExpression, Schemas, row_expression
from ledger.expressions.duckdb.terms import is_number


def stored_expression(
    value: Any, tree: Node, column: TableColumn, scope: Schemas, zone: str
) -> RowExpression:
    """Return an expression in the type of the column that takes it.

    `value` is the expression as it was given, for the message. Raises TypeError for a type that the
    column does not take, UnknownColumnError and PredicateSyntaxError.
    """
    found = row_expression(tree, scope, zone)
    if not may_store(found.type, column.type):
        raise TypeError(
            f"column {column.name} must be {sql_type(column.type)}, got {value!r} of type "
            f"{sql_type(found.type)}: cast it as it is meant"
        )
    return found.cast_to(column.type, zone)


def may_store(given: Any, column: Any) -> bool:
    """Tell whether Spark's ANSI mode stores values of one type in a column of another."""
    if given == column or kinds.is_null(given):
        return True
    if is_number(given) and is_number(column):
        return True
    if is_text(column):
        return not kinds.is_nested(given) and not kinds.is_binary(given)
    is_time = kinds.is_date(given) or kinds.is_timestamp(given)
    if is_time and (kinds.is_date(column) or kinds.is_timestamp(column)):
        return True
    if is_list(given) and is_list(column):
        return may_store(given.value_type, column.value_type)
    return False
