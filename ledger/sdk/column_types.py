"""Types of columns as a caller names them: a misspelled one is told at once, and not by Spark.

Only the word that a type begins with is looked at. What stands in its brackets is Spark's to judge,
and a definition that says its columns in full, as an import does, may name any type.
"""

from difflib import get_close_matches
from re import match
from typing import Final

from ledger.core.predicates.types import SPELLINGS

# The data types of Spark SQL: those that partitions are compared in, and the others with all their
# spellings. The last one only Hive has.
KNOWN: Final = SPELLINGS.keys() | {
    *("array", "map", "struct", "variant", "binary", "float", "real", "interval", "time"),
    *("char", "character", "geography", "geometry", "uniontype"),
}


def check_type(column: str, kind: str) -> None:
    """Raise ValueError for a type that neither Spark SQL nor Hive has."""
    found = match(r"\s*(\w*)", kind)
    word = found[1].lower() if found else ""
    if word in KNOWN:
        return
    alike = get_close_matches(word, KNOWN, n=1)
    meant = f", did you mean {alike[0]}?" if alike else "; one looks like bigint or array<string>"
    raise ValueError(f"column {column!r} has type {kind!r}, which Spark SQL does not know{meant}")
