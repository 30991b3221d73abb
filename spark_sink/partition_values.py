"""Values of partitions: each is a text of a folder or the ledger, read as SQL does in ANSI mode.

A value that its column cannot hold ends the query that meets it, whichever mode its session has:
Spark takes some for NULL where ANSI mode is off, and would show rows of no partition.
"""

from typing import Final

from pyspark.sql import Column as SqlColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from ledger.core.commands import Column, TableDefinition
from ledger.core.predicates.types import TIMES, Kind, parse_type

ANSI: Final = "spark.sql.ansi.enabled"
# What folders say of these Spark reads as SQL does. Of another type it may bring another value: for
# a DECIMAL(10,2) it takes 1.5 as 0.15, and of a BINARY it leaves a%3Ab as it stands.
READ_ALIKE: Final = frozenset({Kind.STRING, Kind.INT, Kind.BIGINT})
READ_ALIKE_IN_ANSI: Final = READ_ALIKE | TIMES


def is_told(spark: SparkSession, table: TableDefinition, column: Column) -> bool:
    """Tell whether Spark has to bring the values of a column as the texts that folders say."""
    if column.name not in table.partition_columns:
        return False
    found = parse_type(column.type)
    is_ansi = spark.conf.get(ANSI) == "true"
    return found is None or found.kind not in (READ_ALIKE_IN_ANSI if is_ansi else READ_ALIKE)


def read_as(text: SqlColumn, kind: str, name: str) -> SqlColumn:
    """Return what the text of a partition of a column stands for, a value of a type or NULL."""
    refused = sf.raise_error(refusal(text, kind, name))
    return sf.coalesce(text.try_cast(kind), sf.when(text.isNotNull(), refused))


def refusal(text: SqlColumn, kind: str, name: str) -> SqlColumn:
    """Return what is said of a text that is no value of the type of its column."""
    return sf.concat(
        sf.lit(f"a partition of column {name} has the value "),
        text,
        sf.lit(f", which is no {kind}; correct the value, or alter the table to another type"),
    )
