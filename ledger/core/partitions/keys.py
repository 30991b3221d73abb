"""Partition values as keys of an index: texts that Spark SQL holds for equal have equal keys."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from ledger.core.predicates.casts import Value, cast_between
from ledger.core.predicates.types import STRING, UndecidableError, parse_type

# Name and Spark SQL type of each partition column, in the order of the partition values.
PartitionSchema = tuple[tuple[str, str], ...]
# The partition values of a file as they stand in the log; None and the empty text are NULL.
Row = tuple[str | None, ...]


class Mark(Enum):
    """A key that is no value of a type."""

    NULL = "null"
    UNCASTABLE = "uncastable"


Key = Value | Mark
UNCASTABLE: Final = Mark.UNCASTABLE
# What reading a text or computing with its value may raise; whatever it is, nothing is known then.
FAILURES: Final = (ArithmeticError, LookupError, ValueError)


def key_of(value: str | None, spark_type: str) -> Key:
    """Return the hashable typed value of a partition value of the log.

    NULL has its own key, and every text that is not a value of its type has UNCASTABLE: who
    looks up keys must look up that one as well.
    """
    try:
        return reader(spark_type)(value)
    except FAILURES:
        return UNCASTABLE


def reader(spark_type: str) -> Callable[[str | None], Key]:
    """Return the function that turns partition values of a type into keys, one by one.

    It raises one of FAILURES for a text that is not a value of the type. Raises UndecidableError if
    the type is not judged.
    """
    found = parse_type(spark_type)
    if found is None:
        raise UndecidableError(f"values of type {spark_type} are not judged")
    read = cast_between(STRING, found)
    return lambda value: read(value) if value else Mark.NULL
