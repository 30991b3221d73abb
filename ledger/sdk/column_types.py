"""Types of columns as a caller names them: a misspelled one is told at once, and not by Spark.

Only the word that a type begins with is looked at. What stands in its brackets is Spark's to judge,
and a definition that says its columns in full, as an import does, may name any type.
"""

from difflib import get_close_matches
from re import match
from typing import Final

# The data types of Spark SQL with all their spellings, and the one that only Hive has.
KNOWN: Final = frozenset(
    {
        "array",
        "bigint",
        "binary",
        "boolean",
        "byte",
        "char",
        "character",
        "date",
        "dec",
        "decimal",
        "double",
        "float",
        "geography",
        "geometry",
        "int",
        "integer",
        "interval",
        "long",
        "map",
        "numeric",
        "real",
        "short",
        "smallint",
        "string",
        "struct",
        "time",
        "timestamp",
        "timestamp_ltz",
        "timestamp_ntz",
        "tinyint",
        "uniontype",
        "varchar",
        "variant",
        "void",
    }
)


def check_type(column: str, kind: str) -> None:
    """Raise ValueError for a type that neither Spark SQL nor Hive has."""
    found = match(r"\s*(\w*)", kind)
    word = found[1].lower() if found else ""
    if word in KNOWN:
        return
    alike = get_close_matches(word, KNOWN, n=1)
    meant = f", did you mean {alike[0]}?" if alike else "; one looks like bigint or array<string>"
    raise ValueError(f"column {column!r} has type {kind!r}, which Spark SQL does not know{meant}")
