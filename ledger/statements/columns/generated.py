"""Generated columns: an expression over the other columns of a row is their value.

A writer computes what a row leaves out, and refuses a row that has another value. An expression has
the same value whenever it is computed, but for times: a local time and the day of an instant depend
on the time zone of the writer, as in Delta.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.stored_values import as_stored
from ledger.core.commands import TableDefinition
from ledger.errors import ConstraintViolatedError, UnknownColumnError
from ledger.expressions.duckdb.conditions import RowExpression
from ledger.expressions.parse import PredicateSyntaxError, parse
from ledger.properties.column_values import default_of, generation_of
from ledger.statements.columns.storing import stored_expression
from ledger.statements.judge import RowJudge

PROBLEMS: Final = (PredicateSyntaxError, UnknownColumnError, TypeError)
LENGTHS: Final = re.compile(r"\bchar|\bvarchar", re.IGNORECASE)


class Generation(NamedTuple):
    """A generated column, and its expression as DuckDB evaluates it."""

    column: TableColumn
    expression: RowExpression


def generations_of(schema: TableSchema, zone: str) -> Sequence[Generation]:
    """Return the generated columns; raises ValueError for one that is not computed here."""
    plain = TableSchema(
        [each for each in schema.columns if not each.generated], (), name=schema.name
    )
    return [generation(each, plain, zone) for each in schema.columns if each.generated]


def generation(column: TableColumn, others: TableSchema, zone: str) -> Generation:
    """Return a generated column over the columns that are not; raises ValueError."""
    text = column.generated
    try:
        return Generation(column, stored_expression(text, parse(text), column, others, zone))
    except PROBLEMS as problem:
        raise ValueError(
            f"column {column.name} of table {others.name} is a generated column ({text}), which is "
            f"not computed here: {problem}. It must be an expression over columns that are not "
            "generated, with one value for each row"
        ) from problem


def with_generated(
    judge: RowJudge, generations: Sequence[Generation], rows: Any, given: Collection[str]
) -> Any:
    """Return a table of rows with the values of generated columns.

    Raises ConstraintViolatedError for a row with another value in a column that is `given`.
    """
    found = judge.values(rows, {each.column.name: each.expression for each in generations})
    for column, expression in generations:
        values = as_stored(found.column(column.name).cast(column.type), column)
        if column.name in given:
            check_equal(judge, column, expression, rows, values)
        at = rows.schema.get_field_index(column.name)
        rows = rows.set_column(at, column.field, pa.chunked_array([values], column.type))
    return rows


def check_equal(
    judge: RowJudge, column: TableColumn, expression: RowExpression, rows: Any, values: Any
) -> None:
    """Raise ConstraintViolatedError for a row whose generated column has another value."""
    stored = rows.column(column.name).combine_chunks()
    same = pc.or_(
        pc.fill_null(pc.equal(stored, values), fill_value=False),
        pc.and_(stored.is_null(), values.is_null()),
    )
    if pa.types.is_floating(column.type):
        both = pc.and_(pc.is_nan(stored), pc.is_nan(values))
        same = pc.or_(same, pc.fill_null(both, fill_value=False))
    if pc.all(same).as_py() is False:
        shown = rows.select([*expression.columns, column.name])
        raise ConstraintViolatedError(
            table=judge.table,
            constraint=column.name,
            condition=f"{column.name} <=> {column.generated}",
            row=shown.filter(pc.invert(same)).slice(0, 1).to_pylist()[0],
        )


def check_generated(
    name: str, before: TableDefinition | None, after: TableDefinition, zone: str
) -> None:
    """Raise ValueError for a generated column that a table cannot have.

    Rows of before have no value for a new one, so that only a new table gets it. A column that an
    expression names keeps its name, its id and its type.
    """
    known = {} if before is None else {column.id: column for column in before.columns}
    for column in after.columns:
        text, was = generation_of(column), known.get(column.id)
        if text and default_of(column):
            raise ValueError(f"column {column.name} must be generated or have a default, got both")
        if text and LENGTHS.search(column.type):
            raise ValueError(
                f"the generated column {column.name} of table {name} must be STRING, got "
                f"{column.type}"
            )
        if text and known and (was is None or generation_of(was) != text):
            raise ValueError(
                f"column {column.name} of table {name} cannot become a generated column, because "
                "present rows may have other values there: create a table with it, and insert the "
                "rows there"
            )
    if before is None or not known:
        generations_of(TableSchema.of(after, name), zone)
        return
    for computed, expression in generations_then(TableSchema.of(before, name), zone):
        if not any(each.id == computed.id and generation_of(each) for each in after.columns):
            continue
        kept = {each.name: (each.id, each.type) for each in after.columns}
        then = {each.name: (each.id, each.type) for each in before.columns}
        gone = [each for each in expression.columns if kept.get(each) != then[each]]
        if gone:
            raise ValueError(
                f"column {gone[0]} of table {name} must stay as it is, because the generated "
                f"column {computed.name} ({computed.generated}) names it: drop that column first"
            )


def generations_then(schema: TableSchema, zone: str) -> Sequence[Generation]:
    """Return the generated columns of a table before a change, none if they are not understood."""
    try:
        return generations_of(schema, zone)
    except ValueError:
        return []  # They came by an import. Rows are refused with the reason.
