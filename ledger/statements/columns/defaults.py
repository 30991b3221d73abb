"""Defaults: what a column has in rows that leave it out, and in files that are older than it.

A default is a constant of Spark SQL, or the present day or time. A column that is added with one
keeps the value of that moment for all older rows: a later default is for new rows only.
"""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.schema import TableColumn, TableSchema, initial_scalar
from ledger.arrow.stored_values import as_stored
from ledger.core.commands import Column, TableDefinition
from ledger.definitions.partition_texts import PartitionColumn, text_of
from ledger.errors import UnknownColumnError
from ledger.expressions.parse import PredicateSyntaxError, parse
from ledger.properties.column_mapping import is_published
from ledger.properties.column_values import INITIAL, default_of, initial_of, with_values
from ledger.statements.columns.storing import stored_expression
from ledger.statements.judge import RowJudge

NOW: Final = re.compile(
    r"(?:(?P<day>current_date)|current_timestamp|now)\s*(?:\(\s*\))?", re.IGNORECASE
)
NO_COLUMNS: Final = TableSchema((), (), name="of a default")
PROBLEMS: Final = (PredicateSyntaxError, UnknownColumnError, ValueError, TypeError)


def default_value(column: TableColumn, zone: str) -> pa.Scalar:
    """Return the default of a column, NULL without one.

    Raises ValueError for a default that is not computed here.
    """
    if not column.default:
        return pa.scalar(None, column.type)
    column.check_readable()
    try:
        return constant(column, at_this_time(column.default), zone)
    except PROBLEMS as problem:
        raise ValueError(
            f"column {column.name} has the default {column.default}, which is not computed here: "
            f"{problem}. Give the column a value in each row, or another default"
        ) from problem


def constant(column: TableColumn, sql: str, zone: str) -> pa.Scalar:
    """Return a constant of Spark SQL as a column stores it."""
    value = stored_expression(sql, parse(sql), column, NO_COLUMNS, zone)
    with RowJudge(f"with the default {column.default}") as judge:
        found = judge.values(pa.table({"row": [0]}), {column.name: value})
    return as_stored(found.column(0).cast(column.type), column)[0]


def at_this_time(sql: str) -> str:
    """Return a default with the present time in place of a function that returns it."""
    found = NOW.fullmatch(sql.strip())
    if found is None:
        return sql
    now = f"TIMESTAMP '{datetime.now(UTC).replace(tzinfo=None).isoformat(' ')}Z'"
    return f"CAST({now} AS DATE)" if found["day"] else now


def with_initials(
    name: str, before: TableDefinition | None, after: TableDefinition, zone: str
) -> TableDefinition:
    """Return a definition whose new columns say what they are in older files.

    `name` is the table's; `before` is None for a new table. Raises ValueError for a new default
    that is not computed here, and for a new column with one in a published table.
    """
    known = {} if before is None else {column.id: column for column in before.columns}
    schema = TableSchema.of(after, name)
    columns = [
        settled(name, known.get(column.id), column, found, zone, has_files=bool(known))
        for column, found in zip(after.columns, schema.columns, strict=False)
    ]
    for column in columns:
        if column.id not in known and initial_of(column) is not None and is_published(after):
            raise ValueError(
                f"column {column.name} cannot be added to table {name} with the default "
                f"{default_of(column)}, because the table is published as Delta, which has no "
                "default for older rows: add the column without it, then set its default, and "
                "give older rows their value by an update"
            )
    return after._replace(columns=columns)


def settled(
    table: str,
    before: Column | None,
    column: Column,
    found: TableColumn,
    zone: str,
    *,
    has_files: bool,
) -> Column:
    """Return a column of a definition with its value in files that lack it."""
    given = initial_of(column)
    initial = None if before is None else initial_of(before)
    is_same = before is not None and (default_of(before), before.type) == (
        default_of(column),
        column.type,
    )
    if found.default and not is_same:
        try:
            value = default_value(found, zone)
        except ValueError as problem:
            raise ValueError(f"table {table}: {problem}") from problem
        if before is None and has_files:
            initial = initial_text(found, value) if given is None else given
    return column if given == initial else with_values(column, {INITIAL: initial})


def initial_text(column: TableColumn, value: pa.Scalar) -> str | None:
    """Return the text of a value in files that lack a column; raises ValueError without one."""
    plain: Any = value.as_py()
    if plain is None or isinstance(plain, str):
        return plain
    with suppress(TypeError, ValueError):
        text = text_of(plain, PartitionColumn(column.name, column.declared))
        is_nan = plain != plain  # noqa: PLR0124 - only NaN differs from itself
        if is_nan or initial_scalar(replace(column, initial=text)) == value:
            return text
    raise ValueError(
        f"column {column.name} of type {column.declared} cannot be added with the default "
        f"{column.default}, whose value has no exact text: add the column, then set its default"
    )
