"""Partition units: what two commits can meet in, told apart by values and never by spelling.

A unit is the whole table, the rows of a table without partitions, or the partitions that share the
values of the leading partition columns: `day=1` holds `day=1/hour=2`. Values are compared as the
types of their columns compare them. What cannot be told for certain is the whole table.

Where a table does not say its columns, units are known by the columns they name themselves. Values
then are compared so that two count as one if any type holds them for equal; units that name
different columns meet.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final

from ledger.core.commands import CoarseWrite
from ledger.core.partitions.keys import FAILURES, Key, Mark, PartitionSchema, key_of
from ledger.core.partitions.names import READ_KEPT, Values, folder_values, partition_values
from ledger.core.partitions.values import FLOATS, NULLS, canonical
from ledger.core.predicates.casts import BOOLEANS

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
# Such a text may be a number, an instant or an interval that another text stands for, too.
UNSURE: Final = re.compile(
    r"[+-]?[0-9.]+(?:e[+-]?[0-9]+)?[dfl]?|[+-]?[0-9]{4,7}-[0-9].*|t?[0-9]{1,2}:.*"
    r"|[+-]?(?:nan|inf|infinity)|interval\b.*",
    re.DOTALL,
)


@lru_cache(READ_KEPT)
def unit_of(write: CoarseWrite, schema: PartitionSchema) -> Unit:
    """Return the unit of a coarse write; as Hive's NULL, the unpartitioned one meets only itself.

    A write of an unpartitioned unit in a table that has partition columns may be of any partition.
    """
    if write.scope == "partition":
        found = folder_values(write.partition)
        if found is None:
            return WHOLE_TABLE
        return leading_unit(found, schema) if schema else named_unit(found)
    return UNPARTITIONED if write.scope == "unpartitioned" and not schema else WHOLE_TABLE


def leading_unit(values: dict[str, str | None], schema: PartitionSchema) -> Unit:
    """Return the unit of values by lower column name, as far as they lead in the schema."""
    names = [name.lower() for name, _ in schema]
    if not values.keys() <= set(names):
        return WHOLE_TABLE
    count = next((at for at, name in enumerate(names) if name not in values), len(names))
    return typed_unit([values[name] for name in names[:count]], schema)


def named_unit(values: dict[str, str | None]) -> Unit:
    """Return the unit of values by lower column name, of columns whose types are not known."""
    names = tuple(sorted(values))
    keys = tuple(identity_of(values[name], "") for name in names)
    return WHOLE_TABLE if Mark.UNCASTABLE in keys else ("named", names, keys)


def unit_in(values: Values | None, schema: PartitionSchema) -> Unit:
    """Return the unit that the partition of a file is, the whole table if it cannot be told."""
    if not schema or values is None or len(values) != len(schema):
        return WHOLE_TABLE
    return typed_unit(values, schema)


def typed_unit(values: Sequence[str | None], schema: PartitionSchema) -> Unit:
    """Return the unit of values of the leading columns; without any it is the whole table."""
    keys = tuple(identity_of(value, kind) for value, (_, kind) in zip(values, schema, strict=False))
    return ("partition", *keys) if keys and Mark.UNCASTABLE not in keys else WHOLE_TABLE


@lru_cache(READ_KEPT)
def text_unit(text: str, schema: PartitionSchema) -> Unit:
    """Return the unit of a partition in wire form."""
    return unit_in(partition_values(text), schema)


def identity_of(value: str | None, spark_type: str) -> Key:
    """Return what tells a partition value from others of its column; `spark_type` "" = unknown."""
    if value is None or value in NULLS:
        return Mark.NULL
    if not spark_type:
        return untyped_key(value)
    if spark_type.strip().lower() not in FLOATS:
        return key_of(value, spark_type)
    try:
        return "float", canonical(value, spark_type)
    except ValueError:
        return Mark.UNCASTABLE


def untyped_key(value: str) -> Key:
    """Return a key that two texts share if some type of Spark SQL may hold them for equal.

    A text of which that is not known has the key UNCASTABLE.
    """
    text = value.strip().casefold()
    if text in BOOLEANS:
        return "number", int(BOOLEANS[text])
    if NUMBER.fullmatch(text) and abs(number := Decimal(text)) <= EXACT_MAX:
        return ("number", int(number)) if number == int(number) else Mark.UNCASTABLE
    if found := DAY.fullmatch(text):
        return day_key(*found.groups())
    return Mark.UNCASTABLE if UNSURE.fullmatch(text) else ("text", text)


def day_key(year: str, month: str, day: str | None) -> Key:
    """Return the key of a day, which may stand for its first instant; that of a year is its number.

    A year alone is a number, and a day as well: its first of January.
    """
    try:
        found = date(int(year), int(month), int(day or 1))
    except FAILURES:
        return Mark.UNCASTABLE
    is_first = (found.month, found.day) == (1, 1)
    return ("number", found.year) if is_first else ("day", found)


def standing(kind: str, unit: Unit) -> Iterator[tuple[object, ...]]:
    """Return the keys under which a changed unit stands, for later ones to meet it by.

    A partition stands under each unit that holds it, too.
    """
    yield kind, unit
    if unit[0] == "partition":
        yield from ((kind, "within", unit[:length]) for length in range(2, len(unit)))
    elif unit[0] == "named":
        yield kind, "names", unit[1]


def meeting(kind: str, unit: Unit) -> Iterator[tuple[object, ...]]:
    """Return the keys that find changed units of the same columns which meet a unit.

    Units that name other columns are found by `column_names`.
    """
    yield kind, unit
    yield kind, WHOLE_TABLE
    if unit[0] == "partition":
        yield kind, "within", unit
        yield from ((kind, unit[:length]) for length in range(2, len(unit)))
