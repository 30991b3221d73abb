"""Values of partitions: texts of folders or of the ledger, read as SQL does in ANSI mode.

A value that its column cannot hold fails the query that reads it, in any mode of the session:
without ANSI mode Spark reads some as NULL, and would show rows of no partition.
"""

from typing import Final

from pyspark.sql import Column as SqlColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from ledger.core.commands import Column, TableDefinition
from ledger.core.predicates.types import TIMES, Kind, parse_type

ANSI: Final = "spark.sql.ansi.enabled"
# For these types Spark reads the names of folders as SQL does. For others it may read another
# value: in a DECIMAL(10,2) 1.5 becomes 0.15, and in a BINARY a%3Ab is not decoded.
READ_ALIKE: Final = frozenset({Kind.STRING, Kind.INT, Kind.BIGINT})
READ_ALIKE_IN_ANSI: Final = READ_ALIKE | TIMES


def is_read_as_text(spark: SparkSession, table: TableDefinition, column: Column) -> bool:
    """Return whether Spark must read the values of a column as the texts of folders."""
    if column.name not in table.partition_columns:
        return False
    found = parse_type(column.type)
    is_ansi = spark.conf.get(ANSI) == "true"
    return found is None or found.kind not in (READ_ALIKE_IN_ANSI if is_ansi else READ_ALIKE)


def read_as(text: SqlColumn, kind: str, name: str) -> SqlColumn:
    """Return the value of the text of a partition, a value of a type or NULL."""
    refused = sf.raise_error(refusal(text, kind, name))
    return sf.coalesce(text.try_cast(kind), sf.when(text.isNotNull(), refused))


def refusal(text: SqlColumn, kind: str, name: str) -> SqlColumn:
    """Return the error text for a text that does not fit the type of its column."""
    return sf.concat(
        sf.lit(f"a partition of column {name} has the value "),
        text,
        sf.lit(f", which must be a {kind}; correct the value, or alter the table to another type"),
    )
