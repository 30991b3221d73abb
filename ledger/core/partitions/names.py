"""Partitions: the texts of a partition, in Delta's form and in Hive's.

A partition is one value per partition column of its table, in their order. A value is the text in
the log, or None for SQL NULL. On the wire a partition is a compact JSON array. Two texts can mean
one partition ('01' and '1' of an int column), so partitions are compared by typed values
(`ledger.core.partitions.units`).
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ledger.core.limits import PARTITION_CHARS_MAX
from ledger.core.partitions.keys import Key, PartitionSchema, key_of
from ledger.core.partitions.values import HIVE_NULL

Values = tuple[str | None, ...]

# Commits write to the same partitions again and again, and a range check reads all of them. So
# parsed texts are cached.
READ_KEPT: Final = 16_384
DELTA_FOLDER: Final = re.compile(r"delta_(0*[1-9][0-9]*)")
"""The name of the folder of a write id."""

ESCAPES: Final = re.compile("(?:%[0-9A-Fa-f]{2})+")


def partition_text(values: Sequence[str | None]) -> str:
    """Return the wire form of a partition; an unpartitioned table has the one partition `[]`."""
    return json.dumps(list(values), separators=(",", ":"), ensure_ascii=False)


@lru_cache(READ_KEPT)
def partition_values(text: str) -> Values | None:
    """Return the values of a wire form, None for any other text."""
    if len(text) > PARTITION_CHARS_MAX:
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, list) or not all(v is None or isinstance(v, str) for v in values):
        return None
    return tuple(values)


def folder_values(text: str) -> dict[str, str | None] | None:
    """Return the values in a Hive text, `day=2024-01-01/hour=5`, by lower column name.

    Doubled slashes and slashes at the ends do not matter. Returns None for a text that names a
    column twice, has a part without `=`, or escapes bytes that are not UTF-8.
    """
    pairs = [part.partition("=") for part in text.split("/") if part]
    try:
        found = {unescaped(name).lower(): null_or(unescaped(value)) for name, _, value in pairs}
    except UnicodeDecodeError:
        return None
    is_whole = pairs and len(found) == len(pairs) and all(sign for _, sign, _ in pairs)
    return found if is_whole else None


def hive_values(text: str, columns: Sequence[str]) -> Values | None:
    """Return the values of a Hive text in the order of `columns`, None if its columns differ."""
    found = folder_values(text)
    names = [name.lower() for name in columns]
    if found is None or found.keys() != set(names):
        return None
    return tuple(found[name] for name in names)


def unescaped(text: str) -> str:
    """Return a part of a folder name without its escapes, `%2F` for `/` and `%C3%A9` for `é`.

    Raises UnicodeDecodeError if a run of escapes is not UTF-8.
    """
    return ESCAPES.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)


def null_or(value: str) -> str | None:
    """Return a value in a folder's name, None for Hive's name of NULL."""
    return None if value == HIVE_NULL else value


def typed(values: Values, schema: PartitionSchema) -> tuple[Key, ...]:
    """Return the values in the form in which SQL compares them: equal partitions are equal."""
    return tuple(key_of(value, kind) for value, (_, kind) in zip(values, schema, strict=False))
