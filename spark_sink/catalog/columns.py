"""Columns between Spark and a table's definition: metadata, values, and the order of rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.types import Family, arrow_type, family_of
from ledger.core.commands import Column
from ledger.core.conflicts.metadata_diff import column_metadata
from ledger.core.predicates.sql_text import sql_of_node
from ledger.core.predicates.tree import Literal
from ledger.expressions.parse import PredicateSyntaxError, parse
from ledger.properties.column_values import (
    COMMENT,
    DEFAULT,
    EXPLICIT,
    GENERATED,
    START,
    STEP,
    initial_of,
)

# What Spark keeps for a column as metadata, and what the ledger keeps of it.
KEPT: Final = (COMMENT, DEFAULT)
# Under this key Spark has the SQL of a column's value in files that lack it.
IN_OLD_FILES: Final = "EXISTS_DEFAULT"
# Spark's names of what a column is computed by, and Delta's.
COMPUTED: Final[Mapping[str, str]] = {
    "GENERATION_EXPRESSION": GENERATED,
    "identity.start": START,
    "identity.step": STEP,
    "identity.allowExplicitInsert": EXPLICIT,
}


def column_answers(
    columns: Sequence[TableColumn], declared: Sequence[Column]
) -> Sequence[Mapping[str, Any]]:
    """Return the columns of a table as answers; `declared` are those of its definition."""
    known = {column.name: column for column in declared}
    return [
        {
            "name": column.name,
            "type": column.declared,
            "nullable": column.nullable or is_computed(column),
            "metadata": json.dumps(spark_metadata(known.get(column.name))),
        }
        for column in columns
    ]


def spark_metadata(column: Column | None) -> Mapping[str, Any]:
    """Return the metadata of a column that Spark understands."""
    if column is None:
        return {}
    known = column_metadata(column)
    found = {key: known[key] for key in KEPT if key in known}
    found.update({key: known[own] for key, own in COMPUTED.items() if own in known})
    return {**found, **initial_metadata(column)}


def initial_metadata(column: Column) -> Mapping[str, str]:
    """Return the metadata by which Spark's reader knows the value of a column in older files."""
    text = initial_of(column)
    return {} if text is None else {IN_OLD_FILES: sql_of_initial(column, text)}


def sql_of_initial(column: Column, text: str) -> str:
    """Return the value of a column in files that lack it as SQL, exact in each session."""
    kind = arrow_type(column.type, column.name)
    literal = sql_of_node(Literal(text, "string"))
    if pa.types.is_string(kind):
        return literal
    # The settings of a session say which type TIMESTAMP is.
    name = "timestamp_ltz" if family_of(kind) is Family.TIMESTAMP else column.type
    return f"CAST({literal} AS {name})"


def column_of(asked: Mapping[str, Any], number: int, before: Column | None = None) -> Column:
    """Return a column that Spark names, with the rest of the metadata that it had before."""
    metadata = {} if before is None else dict(column_metadata(before))
    given = json.loads(asked["metadata"])
    metadata = {key: value for key, value in metadata.items() if key not in KEPT}
    metadata.update({key: given[key] for key in KEPT if key in given})
    if before is None:
        metadata.update({own: given[key] for key, own in COMPUTED.items() if key in given})
    kind = str(asked["type"]) if before is None or asked["type"] != before.type else before.type
    text = json.dumps(metadata, sort_keys=True) if metadata else ""
    # Spark sees a computed column as one that may be NULL, so that rows may leave it out.
    is_seen_so = before is not None and not metadata.keys().isdisjoint(COMPUTED.values())
    nullable = before.nullable if is_seen_so and before is not None else bool(asked["nullable"])
    return Column(str(asked["name"]), kind, nullable, number, text)


def is_computed(column: TableColumn) -> bool:
    """Return whether a writer computes the values of a column."""
    return bool(column.generated) or column.identity is not None


def computed_columns(schema: TableSchema) -> Mapping[str, Mapping[str, Any]]:
    """Return how a write gets the values of computed columns, by their names."""
    return {
        each.name: {"expression": each.generated, "nullable": each.nullable}
        if each.identity is None
        else {"id": each.id, "explicit": each.identity.is_explicit}
        for each in schema.columns
        if is_computed(each)
    }


def columns_in(text: str) -> Sequence[str]:
    """Return the columns of an expression in lower case, none for one that is not understood."""
    try:
        return [name.lower() for name in parse(text).columns()]
    except PredicateSyntaxError:
        return []


RANK: Final = "rank_"
"""Before the kind of a transform whose results sort as numbers and times do."""


class OrderKey(NamedTuple):
    """A key of the order in which rows come to a writer: a column, or a transform of it."""

    column: str
    kind: str = ""
    width: int = 0
    descending: bool = False
    nulls_first: bool = True


def written_order(schema: TableSchema) -> Sequence[Mapping[str, Any]]:
    """Return the order in which rows come to a writer: by partition, then as the table says.

    A computed partition is not known then: rows come in the order of what it is computed from.
    """
    keys: list[OrderKey] = []
    for name in schema.partition_columns:
        transform = schema.transforms.get(name)
        column = schema.find(name if transform is None else transform.column)
        if column is None:
            continue
        if column.generated:
            found = map(schema.find, columns_in(column.generated))
            keys += [OrderKey(each.name) for each in found if each is not None]
        elif transform is None:
            keys.append(OrderKey(column.name))
        else:
            keys.append(OrderKey(column.name, transform.kind, transform.width))
    inside = {key.column for key in keys if not key.kind}
    keys += [
        OrderKey(
            key.column,
            f"{RANK}{key.of.kind}" if key.of else "",
            key.of.width if key.of else 0,
            descending=key.is_descending,
            nulls_first=key.has_nulls_first,
        )
        for key in schema.sort
        if key.column not in inside
    ]
    return [key._asdict() for key in dict.fromkeys(keys)]


def dividing_columns(schema: TableSchema) -> Sequence[TableColumn]:
    """Return the columns by which files are divided, or of which transforms divide them."""
    names = [
        schema.transforms[name].column if name in schema.transforms else name
        for name in schema.partition_columns
    ]
    return [each for name in names if (each := schema.find(name)) is not None]
