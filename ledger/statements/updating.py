"""UPDATE, and the new values of columns with Spark's rules of what a column takes.

An expression is cast as Spark's ANSI mode stores it: between numbers, with an error where a value
does not fit, and never from a text to a number.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.python_rows import array_of
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.stored_values import as_stored
from ledger.core.predicates.tree import Node
from ledger.expressions.build import Expression, condition_in
from ledger.expressions.duckdb.conditions import RowExpression, Schemas
from ledger.reads.row_counts import ChangedRows
from ledger.statements.columns.defaults import default_value
from ledger.statements.columns.identity import check_numbered
from ledger.statements.columns.storing import stored_expression
from ledger.statements.constraints import RowChecks
from ledger.statements.judge import RowJudge
from ledger.statements.marking import ChangedFiles
from ledger.statements.target import StatementTable

Assignments = Mapping[str, "RowExpression | pa.Scalar"]
"""New values by the names of columns: an expression, or a constant of the column's type."""


def update(
    table: StatementTable, changes: Mapping[str, Any], where: Node | None = None
) -> ChangedRows:
    """Give columns of the rows that fulfil a condition new values.

    A text is an expression of Spark SQL over the row as it was, or the word DEFAULT; any other
    value is a constant.
    """
    table.check_listed()
    terms = assignments(changes, table.schema, table.schema, table.zone)
    check_numbered(table.schema, terms, "update")
    condition = table.condition(where)
    checks, values = RowChecks(table.row.name, table.definition, table.zone), table.values
    changed = ChangedFiles(table, [*condition.columns, *terms])
    found, count = changed.read(where), 0
    with table.judge() as judge:

        def rows() -> Iterator[Any]:
            nonlocal count
            for file in table.shown(found):
                before, numbers = changed.rows(file, where)
                hit = judge.fulfilled(before, condition)
                hits = pc.sum(hit).as_py() or 0
                if not hits:
                    continue
                count += hits
                yield from changed.change(file, before, hit, numbers)
                after = assigned(judge, table.schema, before.filter(hit), terms)
                after = values.generated(judge, after, terms)
                yield checks.passed(judge, after)

        adds = table.write(rows(), placing=changed.placing)
    changed.note(adds, "UPDATE")
    return table.counted(ChangedRows(updated=count))


def assignments(
    changes: Mapping[str, Any], schema: TableSchema, scope: Schemas, zone: str
) -> Assignments:
    """Return the assignments of a statement; `scope` has the columns that expressions may name.

    Raises TypeError for anything but a mapping of columns and for a value of another type,
    UnknownColumnError and PredicateSyntaxError for an expression, and ValueError for an unknown
    column and for one that is named twice.
    """
    if not isinstance(changes, Mapping) or not changes:
        raise TypeError(f"changes must be a dict of columns and values, got {changes!r}")
    found: dict[str, Any] = {}
    for name, value in changes.items():
        column = known_column(schema, name)
        if column.name in found:
            raise ValueError(f"column {column.name} must be assigned once, got it twice")
        found[column.name] = assignment(value, column, scope, zone)
    return found


def assignment(value: Any, column: TableColumn, scope: Schemas, zone: str) -> Any:
    """Return the new value of a column."""
    if not isinstance(value, str | Expression):
        return array_of([value], column.type, column.name)[0]
    if isinstance(value, str) and is_default(value, scope):
        return default_value(column, zone)
    tree = condition_in(value)
    assert tree is not None
    return stored_expression(value, tree, column, scope, zone)


def is_default(value: str, scope: Schemas) -> bool:
    """Tell whether a text is the word DEFAULT, and not the name of a column."""
    schemas = [scope] if isinstance(scope, TableSchema) else scope.values()
    return value.strip().upper() == "DEFAULT" and not any(each.find("DEFAULT") for each in schemas)


def known_column(schema: TableSchema, name: Any) -> TableColumn:
    """Return a column to assign; raises TypeError or ValueError for another name."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a column must be a text, got {name!r}")
    found = schema.find(name)
    if found is not None:
        found.check_readable()
        return found
    names = {column.name.lower(): column.name for column in schema.columns}
    alike = get_close_matches(name.lower(), names, n=1)
    meant = f", did you mean {names[alike[0]]}?" if alike else ""
    raise ValueError(f"table {schema.name} has no column {name}{meant}")


def assigned(
    judge: RowJudge, schema: TableSchema, rows: Any, terms: Assignments, relations: Any = None
) -> Any:
    """Return rows with new values; columns without an assignment keep theirs.

    `relations` are the rows that the expressions name, if they are not `rows` themselves.
    """
    computed = {name: term for name, term in terms.items() if isinstance(term, RowExpression)}
    values = judge.values(rows, computed, relations)
    columns = []
    for each in schema.columns:
        if each.name not in terms:
            columns.append(rows.column(each.name))
            continue
        term = terms[each.name]
        if isinstance(term, RowExpression):
            column = values.column(each.name).cast(each.type)
        else:
            column = pa.chunked_array([pa.repeat(term, len(rows))], each.type)
        columns.append(as_stored(column, each))
    return pa.Table.from_arrays(columns, schema=schema.arrow)
