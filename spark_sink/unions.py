"""Parts of a table as one DataFrame, in the columns that its definition names."""

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ledger.core.commands import Column, TableDefinition
from spark_sink.catalog.columns import initial_metadata

# Names of fields may hold any text: text between backticks is matched in order to keep it.
BOUNDED_TEXT: Final = re.compile(
    r"(`[^`]*`)|\b(?:var)?char(?:acter)?\s*\(\s*\d+\s*\)", re.IGNORECASE
)
TEXT: Final = "STRING"
Part = TypeVar("Part")


def union(first: DataFrame, second: DataFrame) -> DataFrame:
    """Return the rows of both; a table without listed columns has the columns of either."""
    return first.unionByName(second, allowMissingColumns=True)


def in_pairs(parts: Sequence[Part], join: Callable[[Part, Part], Part]) -> Part:
    """Return all parts joined in their order: two by two, then the results, until one is left.

    Spark analyses every plan within a union. Joined one after the other, the unions of 400
    partitions take ten seconds, and twice as many take four times as long.
    """
    while len(parts) > 1:
        parts = [reduce(join, parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return parts[0]


def empty(spark: SparkSession, table: TableDefinition) -> DataFrame:
    """Return no rows of a table."""
    return spark.createDataFrame([], schema_of(table) if table.columns else StructType([]))


def schema_of(table: TableDefinition) -> str:
    """Return the columns of a table as Spark reads them."""
    types = map(type_of, table.columns)
    names = (quoted(column.name) for column in table.columns)
    return ", ".join(map(" ".join, zip(names, types, strict=True)))


def read_schema(table: TableDefinition) -> StructType:
    """Return the columns of a table for Spark's reader of files, some of which may be older."""
    made = StructType.fromDDL(schema_of(table))
    assert isinstance(made, StructType), "columns make a struct"
    for field, column in zip(made.fields, table.columns, strict=True):
        field.metadata = dict(initial_metadata(column))
    return made


def type_of(column: Column) -> str:
    """Return the type of a column for Spark's reader, which accepts no CHAR or VARCHAR."""
    return BOUNDED_TEXT.sub(lambda found: found[1] or TEXT, column.type)


def quoted(name: str) -> str:
    """Return the name of a column, quoted for SQL."""
    return "`" + name.replace("`", "``") + "`"
