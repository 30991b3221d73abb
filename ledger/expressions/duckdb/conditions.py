"""Conditions and values over the rows of a table, as DuckDB evaluates them.

They mean what Spark SQL means in ANSI mode. A form whose result could differ is refused by name.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.core.predicates.tree import Node
from ledger.errors import UnknownColumnError
from ledger.expressions.condition_columns import unknown_column
from ledger.expressions.duckdb.casts import cast
from ledger.expressions.duckdb.operators import truth_of
from ledger.expressions.duckdb.row_terms import RowTerms, field_of
from ledger.expressions.duckdb.terms import SqlTerm, filled, identifier, refused

Schemas = TableSchema | Mapping[str, TableSchema]
"""The schema of one table, or several by the names that qualify their columns."""


CHAR: Final = re.compile(r"\s*char(?:acter)?\s*\(\s*([0-9]+)\s*\)\s*", re.IGNORECASE)

# CHAR is filled up with spaces to be compared; under a collation texts that differ are equal.
UNLIKE_TEXT: Final = re.compile(r"\bchar(?:acter)?\s*\(|\bcollate\b", re.IGNORECASE)


class RowCondition(NamedTuple):
    """A condition as DuckDB's SQL over logical columns; NULL counts as not fulfilled.

    `columns` are the columns that it reads, as the table spells them.
    """

    sql: str
    columns: Sequence[str]


class RowExpression(NamedTuple):
    """A value as a term of DuckDB over logical columns."""

    term: SqlTerm
    columns: Sequence[str]

    @property
    def sql(self) -> str:
        """The value as DuckDB's SQL."""
        return self.term.sql

    @property
    def type(self) -> pa.DataType:
        """The type of the value."""
        return self.term.type

    def cast_to(self, target: pa.DataType, zone: str) -> "RowExpression":
        """Return the value in another type; raises PredicateSyntaxError."""
        return self._replace(term=cast(self.term, target, zone))


class NamesInScope:
    """The columns that a text may name; it notes which of them the text has named."""

    def __init__(self, schemas: Schemas) -> None:
        self.is_one = isinstance(schemas, TableSchema)
        self.schemas = {"": schemas} if isinstance(schemas, TableSchema) else dict(schemas)
        self.named: dict[str, None] = {}

    def column(self, parts: Sequence[str]) -> SqlTerm:
        """Return a column, or a field of it; raises UnknownColumnError."""
        for alias, schema in self.schemas.items():
            if len(parts) > 1 and parts[0].lower() == alias.lower():
                return self.within(alias, schema, parts[1:])
        holding = [(a, schema) for a, schema in self.schemas.items() if schema.find(parts[0])]
        if len(holding) > 1:
            meant = " or ".join(f"{alias}.{parts[0]}" for alias, _ in holding)
            raise UnknownColumnError(
                f"column {parts[0]} must say whose it is, as {meant} does: both have one",
                column=parts[0],
                table=0,
            )
        alias, schema = holding[0] if holding else next(iter(self.schemas.items()))
        return self.within(alias, schema, parts)

    def within(self, alias: str, schema: TableSchema, parts: Sequence[str]) -> SqlTerm:
        """Return a column of one table, or a field of it."""
        found = schema.find(parts[0])
        if found is None:
            names = [column.name for column in schema.columns]
            raise unknown_column(schema.name or alias, schema.table, ".".join(parts), names)
        found.check_readable()
        qualifier = "" if self.is_one else f"{identifier(alias)}."
        self.named[found.name if self.is_one else f"{alias}.{found.name}"] = None
        term = column_term(found, f"{qualifier}{identifier(found.name)}")
        for part in parts[1:]:
            term = field_of(term, part)
        return term


def column_term(column: TableColumn, sql: str) -> SqlTerm:
    """Return a column; raises PredicateSyntaxError for a text that is not compared byte by byte.

    Files of other writers may have texts of CHAR that are not filled up. Spark fills them up as it
    reads them.
    """
    char = CHAR.fullmatch(column.declared)
    if char:
        width = int(char[1])
        return SqlTerm(filled(sql, width), column.type, width=width)
    if UNLIKE_TEXT.search(column.declared):
        raise refused(f"a condition on column {column.name} of type {column.declared}")
    return SqlTerm(sql, column.type, width=0)


def row_condition(where: Node | None, schema: Schemas, zone: str = "") -> RowCondition:
    """Return a condition on rows, read in a time zone ("" = UTC); None is TRUE.

    Raises PredicateSyntaxError for a form that rows do not support, and UnknownColumnError.
    """
    if where is None:
        return RowCondition("TRUE", ())
    scope = NamesInScope(schema)
    term = truth_of(compiled(where, scope.column, zone), zone)
    return RowCondition(term.sql, tuple(scope.named))


def row_expression(value: Node, schema: Schemas, zone: str = "") -> RowExpression:
    """Return a value of a row; raises as `row_condition`."""
    scope = NamesInScope(schema)
    return RowExpression(compiled(value, scope.column, zone), tuple(scope.named))


def compiled(node: Node, column: Callable[[Sequence[str]], SqlTerm], zone: str) -> SqlTerm:
    """Return a condition or a value as a term."""
    return RowTerms(node, column, "" if zone == "UTC" else zone).of(node)
