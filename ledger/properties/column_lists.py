"""Properties that name columns: order of rows, Bloom filters, key, columns that are stated or not.

A value is a list such as `day, id DESC`. A name with other signs than letters, digits and `_` is in
backquotes. An order may also be by a transform of a column, as partitions are: `bucket(16, id)`.
When a column is renamed, the list names it anew.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ledger.core.commands import Property, TableDefinition
from ledger.core.partitions.transforms import PartitionTransform, parse_transform
from ledger.core.predicates.types import BY_NAME, Kind, parse_type
from ledger.properties.column_values import generation_of, identity_of
from ledger.properties.partitioning import spelled

SORT: Final = "lakeledger.sort"
BLOOM: Final = "lakeledger.bloom"
KEY: Final = "lakeledger.key"
CONFLICTS: Final = "lakeledger.conflictColumns"
SKIPPED: Final = "lakeledger.statistics.skip"
LISTS: Final = (SORT, BLOOM, KEY, CONFLICTS, SKIPPED)
SMALL_LISTS: Final = {each.lower(): each for each in LISTS}

ITEM: Final = re.compile(
    r"\s*(?:(?P<call>\w+\s*\(\s*(?:[0-9]+\s*,\s*)?(?:`(?:[^`]|``)+`|\w+)\s*(?:,\s*[0-9]+\s*)?\))"
    r"|`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>\w+))"
    r"(?:\s+(?P<way>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*(?:,|$)",
    re.IGNORECASE,
)
PLAIN: Final = re.compile(r"\w+")
# Kinds whose values have one form in a Parquet file, by which a filter knows them.
TELLABLE: Final = frozenset(
    {
        *(Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.STRING, Kind.BOOLEAN),
        *(Kind.DATE, Kind.DECIMAL, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ),
    }
)
"""Kinds whose values have one text, and whose order has no exceptions such as NaN."""

WANTED: Final = {
    SORT: "an order",
    BLOOM: "a filter",
    KEY: "one text for each value",
    CONFLICTS: "one text for each value",
    SKIPPED: "statistics",
}
FILTERED: Final = frozenset(
    {Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.STRING, Kind.DATE, Kind.TIMESTAMP}
)


class SortKey(NamedTuple):
    """A column by which rows are ordered; NULL counts as the least value unless it is said."""

    column: str
    is_descending: bool
    has_nulls_first: bool
    words: str = ""
    of: PartitionTransform | None = None
    """The transform by whose results rows are ordered; its column is not looked at."""

    @property
    def transform(self) -> PartitionTransform | None:
        """The transform of the column, None for an order by the column itself."""
        return self.of._replace(column=self.column) if self.of else None

    @property
    def said(self) -> str:
        """What rows are ordered by, without the direction."""
        name, transform = self.column, self.transform
        if transform is not None:
            return transform.text
        return name if PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`"

    @property
    def text(self) -> str:
        """The key as a property has it."""
        return f"{self.said} {self.words}".strip()


def keys_in(key: str, text: str) -> Sequence[SortKey]:
    """Return what a list names; raises ValueError for another text, and for a column twice."""
    found: list[SortKey] = []
    what = f"the property {key}" if key in LISTS else key
    place = 0
    while place < len(text):
        item = ITEM.match(text, place)
        transform = parse_transform(spelled(item["call"], {})) if item and item["call"] else None
        if item is None or item.end() == place or (item["call"] and transform is None):
            raise ValueError(
                f"{what} must be a list of columns, such as "
                f"{'day, id DESC' if key == SORT else 'id, name'}, got {text!r}"
            )
        place = item.end()
        name = item["plain"] or (item["quoted"] or "").replace("``", "`")
        name = transform.column if transform else name
        is_descending = (item["way"] or "").upper() == "DESC"
        nulls = (item["nulls"] or ("LAST" if is_descending else "FIRST")).upper()
        ends = f" NULLS {nulls}" if item["nulls"] else ""
        words = f"{(item['way'] or '').upper()}{ends}".strip()
        found.append(SortKey(name, is_descending, nulls == "FIRST", words, transform))
    names = [each.said.lower() for each in found]
    if len(set(names)) < len(names):
        raise ValueError(f"{what} must name each column once, got {text!r}")
    if key in LISTS and key != SORT and any(each.words or each.of for each in found):
        raise ValueError(f"the property {key} must name columns without an order, got {text!r}")
    return found


def list_of(definition: TableDefinition, key: str) -> Sequence[SortKey]:
    """Return the columns that a property of a definition names, none without it."""
    text = next(
        (each.value for each in definition.properties if each.key.lower() == key.lower()), ""
    )
    return keys_in(key, text)


def lists_of(definition: TableDefinition) -> tuple[tuple[SortKey, ...], ...]:
    """Return the columns that each of `LISTS` names, the same ones for the same properties."""
    return _lists_in(tuple(definition.properties))


@lru_cache(maxsize=128)
def _lists_in(given: tuple[Property, ...]) -> tuple[tuple[SortKey, ...], ...]:
    known = {key.lower(): text for key, text in given}
    return tuple(tuple(keys_in(key, known.get(key.lower(), ""))) for key in LISTS)


def check_lists(name: str, definition: TableDefinition) -> None:
    """Raise ValueError for a list that names columns which a table lacks, or which it cannot name.

    `name` is the table's.
    """
    kinds = {column.name.lower(): column.type for column in definition.columns}
    computed = {
        column.name.lower()
        for column in definition.columns
        if generation_of(column) or identity_of(column) is not None
    }
    inside = {column.lower() for column in definition.partition_columns}
    transforms = map(parse_transform, definition.partition_columns)
    divided = inside | {each.column.lower() for each in transforms if each is not None}
    for key in LISTS:
        for each in list_of(definition, key):
            kind, column = kinds.get(each.column.lower()), each.column.lower()
            if kind is None:
                raise ValueError(
                    f"the property {key} of table {name} must name its columns, got {each.column}: "
                    "change the property first, or name another column"
                )
            if key == BLOOM and column in inside:
                raise ValueError(
                    f"the property {key} of table {name} must name columns in its files, got the "
                    f"partition column {each.column}: partitions are found without a filter"
                )
            if key == SKIPPED and column in divided:
                raise ValueError(
                    f"the property {key} of table {name} must not name partition columns, got "
                    f"{each.column}: the log has the values of partitions. Divide the table by "
                    "another column"
                )
            if key == SORT and column in computed:
                raise ValueError(
                    f"the property {key} of table {name} must name columns that rows have, got the "
                    f"computed column {each.column}: name the columns that it is computed from"
                )
            if each.transform is not None and not each.transform.takes(kind):
                raise ValueError(
                    f"the property {key} of table {name} must have transforms that take their "
                    f"columns, got {each.said} of type {kind}"
                )
            if not is_fit(key, kind):
                wanted = WANTED[key]
                raise ValueError(
                    f"the property {key} of table {name} must name columns whose type has {wanted},"
                    f" got {each.column} of type {kind}"
                )


def is_fit(key: str, kind: str) -> bool:
    """Return whether a list may name a column of a type."""
    if key == SORT:
        word = re.match(r"\w*", kind.strip().lower())
        return word is not None and word[0] in BY_NAME and word[0] != "void"
    if key == SKIPPED:
        return True
    found = parse_type(kind)
    return found is not None and found.kind in (FILTERED if key == BLOOM else TELLABLE)


def followed(before: TableDefinition, after: TableDefinition) -> TableDefinition:
    """Return a changed definition whose lists name columns as they are called now."""
    if not any(each.key.lower() in SMALL_LISTS for each in after.properties):
        return after
    now = {column.id: column.name for column in after.columns if column.id}
    names = {each.name.lower(): now.get(each.id, each.name) for each in before.columns}
    known = set(before.properties)
    made = [
        each if each not in known else Property(each.key, called(each, names))
        for each in after.properties
    ]
    return after._replace(properties=made)


def called(property_: Property, names: Mapping[str, str]) -> str:
    """Return the value of a property with other names for columns."""
    key = SMALL_LISTS.get(property_.key.lower())
    if key is None:
        return property_.value
    keys = keys_in(key, property_.value)
    if all(names.get(each.column.lower(), each.column) == each.column for each in keys):
        return property_.value
    return ", ".join(renamed(keys, names))


def renamed(keys: Sequence[SortKey], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts of keys with other names for columns."""
    for each in keys:
        yield each._replace(column=names.get(each.column.lower(), each.column)).text
