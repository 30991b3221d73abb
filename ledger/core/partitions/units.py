"""Partition units: the parts of a table where two commits can conflict, compared by values.

A unit is the whole table, the rows of a table without partitions, or the partitions that share the
values of the leading partition columns: `day=1` contains `day=1/hour=2`. Values are compared by the
types of their columns, never by spelling. A unit that cannot be identified is the whole table.

If the columns of a table are unknown, a unit has the columns that its text names. Two values then
count as equal if they are equal in any type, and units that name different columns conflict.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final

from ledger.core.commands import CoarseWrite
from ledger.core.partitions.keys import FAILURES, Key, NoValue, PartitionSchema, key_of
from ledger.core.partitions.names import READ_KEPT, Values, folder_values, partition_values
from ledger.core.partitions.values import NULLS, canonical
from ledger.core.predicates.casts import BOOLEANS
from ledger.core.predicates.types import FLOATS

# "table", "unpartitioned", "partition" with typed values, or "named" with columns and values.
Unit = tuple[object, ...]
WHOLE_TABLE: Final[Unit] = ("table",)
UNPARTITIONED: Final[Unit] = ("unpartitioned",)
# Doubles hold every whole number up to here.
EXACT_MAX: Final = 2**53
NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,20}\.?0{0,20}|[0-9]{1,4}(?:\.[0-9]{1,4})?[eE]\+?[0-9]{1,2})"
)
DAY: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T][0-9]{1,2}(?::[0-9.]{1,12}){0,2})?)?"
)
# Such a text may be a number, an instant or an interval that has other spellings too.
UNSURE: Final = re.compile(
    r"[+-]?[0-9.]+(?:e[+-]?[0-9]+)?[dfl]?|[+-]?[0-9]{4,7}-[0-9].*|t?[0-9]{1,2}:.*"
    r"|[+-]?(?:nan|inf|infinity)|interval\b.*",
    re.DOTALL,
)


@lru_cache(READ_KEPT)
def unit_of(write: CoarseWrite, schema: PartitionSchema) -> Unit:
    """Return the unit of a coarse write; the unpartitioned unit conflicts only with itself.

    In a table with partition columns, an unpartitioned write is one of the whole table.
    """
    if write.scope == "partition":
        found = folder_values(write.partition)
        if found is None:
            return WHOLE_TABLE
        return leading_unit(found, schema) if schema else named_unit(found)
    return UNPARTITIONED if write.scope == "unpartitioned" and not schema else WHOLE_TABLE


def leading_unit(values: dict[str, str | None], schema: PartitionSchema) -> Unit:
    """Return the unit of values by lower column name, up to the first column without a value."""
    names = [name.lower() for name, _ in schema]
    if not values.keys() <= set(names):
        return WHOLE_TABLE
    count = next((at for at, name in enumerate(names) if name not in values), len(names))
    return typed_unit([values[name] for name in names[:count]], schema)


def named_unit(values: dict[str, str | None]) -> Unit:
    """Return the unit of values by lower column name, for columns of unknown type."""
    names = tuple(sorted(values))
    keys = tuple(identity_of(values[name], "") for name in names)
    return WHOLE_TABLE if NoValue.UNCASTABLE in keys else ("named", names, keys)


def unit_in(values: Values | None, schema: PartitionSchema) -> Unit:
    """Return the unit of a file's partition, the whole table if its values do not fit."""
    if not schema or values is None or len(values) != len(schema):
        return WHOLE_TABLE
    return typed_unit(values, schema)


def typed_unit(values: Sequence[str | None], schema: PartitionSchema) -> Unit:
    """Return the unit of values of the leading columns; without values it is the whole table."""
    keys = tuple(identity_of(value, kind) for value, (_, kind) in zip(values, schema, strict=False))
    return ("partition", *keys) if keys and NoValue.UNCASTABLE not in keys else WHOLE_TABLE


@lru_cache(READ_KEPT)
def text_unit(text: str, schema: PartitionSchema) -> Unit:
    """Return the unit of a partition in wire form."""
    return unit_in(partition_values(text), schema)


def identity_of(value: str | None, spark_type: str) -> Key:
    """Return the key that compares a partition value with others; `spark_type` "" = unknown."""
    if value is None or value in NULLS:
        return NoValue.NULL
    if not spark_type:
        return untyped_key(value)
    if spark_type.strip().lower() not in FLOATS:
        return key_of(value, spark_type)
    try:
        return "float", canonical(value, spark_type)
    except ValueError:
        return NoValue.UNCASTABLE


def untyped_key(value: str) -> Key:
    """Return a key that two texts share if they may be equal in some type of Spark SQL.

    A text for which that is unknown has the key UNCASTABLE.
    """
    text = value.strip().casefold()
    if text in BOOLEANS:
        return "number", int(BOOLEANS[text])
    if NUMBER.fullmatch(text) and abs(number := Decimal(text)) <= EXACT_MAX:
        return ("number", int(number)) if number == int(number) else NoValue.UNCASTABLE
    if found := DAY.fullmatch(text):
        return day_key(*found.groups())
    return NoValue.UNCASTABLE if UNSURE.fullmatch(text) else ("text", text)


def day_key(year: str, month: str, day: str | None) -> Key:
    """Return the key of a day or of its first instant, as a date.

    The first of January has the number of its year as key, because a year alone means that day and
    that number.
    """
    try:
        found = date(int(year), int(month), int(day or 1))
    except FAILURES:
        return NoValue.UNCASTABLE
    is_first = (found.month, found.day) == (1, 1)
    return ("number", found.year) if is_first else ("day", found)


def unit_keys(kind: str, unit: Unit) -> Iterator[tuple[object, ...]]:
    """Return the keys under which a changed unit is entered into the conflict index.

    A partition is also entered under each unit that contains it.
    """
    yield kind, unit
    if unit[0] == "partition":
        yield from ((kind, "within", unit[:length]) for length in range(2, len(unit)))
    elif unit[0] == "named":
        yield kind, "names", unit[1]


def meeting(kind: str, unit: Unit) -> Iterator[tuple[object, ...]]:
    """Return the keys to look up the changed units that conflict with a unit of the same columns.

    Units that name other columns are found by `column_names`.
    """
    yield kind, unit
    yield kind, WHOLE_TABLE
    if unit[0] == "partition":
        yield kind, "within", unit
        yield from ((kind, unit[:length]) for length in range(2, len(unit)))
