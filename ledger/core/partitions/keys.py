"""Partition values as keys of an index: texts that are equal in Spark SQL have equal keys."""

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import chain, repeat
from typing import Any, Final

from ledger.core.predicates.casts import Value, cast_between
from ledger.core.predicates.types import STRING, UndecidableError, parse_type

# Name and Spark SQL type of each partition column, in the order of the partition values.
PartitionSchema = tuple[tuple[str, str], ...]
# The partition values of a file as in the log; None and the empty text are NULL.
Row = tuple[str | None, ...]


class NoValue(Enum):
    """A key that is no value of a type."""

    NULL = "null"
    UNCASTABLE = "uncastable"


Key = Value | NoValue
UNCASTABLE: Final = NoValue.UNCASTABLE
# Exceptions from parsing a text or computing with its value: the result is then unknown.
FAILURES: Final = (ArithmeticError, LookupError, ValueError)


def key_of(value: str | None, spark_type: str) -> Key:
    """Return the hashable typed value of a partition value of the log.

    NULL has its own key. Every text that is not a value of its type has the key UNCASTABLE, so a
    search for keys must also look up that key.
    """
    try:
        return reader(spark_type)(value)
    except FAILURES:
        return UNCASTABLE


def reader(spark_type: str) -> Callable[[str | None], Key]:
    """Return the function that turns a partition value of a type into its key.

    The function raises one of FAILURES for a text that is not a value of the type. Raises
    UndecidableError for an unsupported type.
    """
    found = parse_type(spark_type)
    if found is None:
        raise UndecidableError(f"type {spark_type} is not supported")
    read = cast_between(STRING, found)
    return lambda value: read(value) if value else NoValue.NULL


def place_of(values: Row, types: Sequence[str]) -> tuple[tuple[int, Any], ...]:
    """Return what sorts partitions as the types of their columns sort: NULL first, odd texts last.

    A value without a type is an odd text.
    """
    return tuple(map(value_place, values, chain(types, repeat(""))))


def value_place(value: str | None, spark_type: str) -> tuple[int, Any]:
    """Return what sorts the values of one column."""
    key = key_of(value, spark_type)
    if isinstance(key, NoValue):
        return (0, "") if key is NoValue.NULL else (2, value or "")
    return 1, key
