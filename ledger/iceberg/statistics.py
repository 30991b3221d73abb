"""Statistics of data files: Delta's JSON of the log, and the counts and bounds of a manifest.

In the log a column stands by the name that it has in files, in a manifest by its id. Bounds serve
skipping: one that may be wrong is made wider, or left out. So a bound of another writer is trusted
as little as the ledger's own scan trusts it (`ledger.files.foreign_bounds`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ledger.core.commands import Column, TableDefinition
from ledger.core.partitions.values import read_float
from ledger.core.predicates.types import DOUBLE, FLOATS, Kind, SparkType, parse_type
from ledger.expressions.column_bounds import MILLISECOND, TOO_ODD, parsed_stats, value_of
from ledger.files.foreign_bounds import widened
from ledger.files.statistics import (
    LEAVES_MAX,
    as_object,
    bound_json,
    day_text,
    finite,
    high_text,
    high_time,
    low_text,
    low_time,
    put,
)
from ledger.iceberg.manifests.rows import ManifestEntry
from ledger.iceberg.schemas import tree_of
from ledger.iceberg.types import IcebergType, NoIcebergTypeError, fields_in, iceberg_type, node_of
from ledger.iceberg.values import FIRST_DAY, micros_of, packed, rounded, value_in
from ledger.properties.column_lists import SKIPPED, list_of
from ledger.properties.column_mapping import is_mapped, physical_name
from ledger.properties.field_ids import ID, IN_FILES, WITHIN, Tree
from ledger.properties.known_properties import asks_for_encryption
from ledger.properties.type_text import TypeNode, read_type

SURROGATES: Final = range(0xD800, 0xE000)
HIGHEST: Final = 0x10FFFF
NOT_TIGHT: Final = "tightBounds"
INT: Final = "int"


class FileMetrics(NamedTuple):
    """What a manifest says of the rows of a file; maps are by the ids of columns and fields.

    The names are those of a `ManifestEntry`. `record_count` None = the statistics do not count the
    rows, which a manifest must.
    """

    record_count: int | None
    value_counts: Mapping[int, int]
    null_value_counts: Mapping[int, int]
    lower_bounds: Mapping[int, bytes]
    upper_bounds: Mapping[int, bytes]


class StatsLeaf(NamedTuple):
    """A column without fields, or a field of a struct: its id, its path in statistics, its type."""

    id: int
    path: tuple[str, ...]
    type: str


def metrics_of(
    stats: str, definition: TableDefinition, schema: Mapping[str, Any], *, is_other: bool
) -> FileMetrics:
    """Return the counts and bounds of a file from its statistics in the log.

    `definition` is the table's at the time when the file was added, with the names that its columns
    have in files. `schema` gives the types in which bounds are written, by ids: a bound that a type
    does not have is left out. `is_other` says that the file is of another writer than the ledger
    (`foreign_bounds.is_foreign`).
    """
    found = parsed_stats(stats)
    rows = found.get("numRecords")
    count = rows if type(rows) is int and rows >= 0 else None
    metrics = FileMetrics(count, {}, {}, {}, {})
    types = types_in(schema)
    for leaf in leaves_of(definition):
        kind = types.get(leaf.id)
        if kind is None or count is None:
            continue
        nulls = nulls_of(found, leaf, count, is_other=is_other)
        low, high = ends_of(found, leaf, kind, is_other=is_other)
        known = [(nulls, metrics.null_value_counts), (low, metrics.lower_bounds)]
        for value, counts in (*known, (high, metrics.upper_bounds)):
            if value is not None:
                counts[leaf.id] = value  # type: ignore[index]
                metrics.value_counts[leaf.id] = count  # type: ignore[index]
    return metrics


def leaves_of(definition: TableDefinition) -> Sequence[StatsLeaf]:
    """Return the columns and the fields of structs whose values are not in lists or maps.

    A column whose name is the beginning of another one with a point is left out: some writers take
    one for a field of the other.
    """
    return leaves_by(tuple(definition.columns), mapped=is_mapped(definition))


@lru_cache(maxsize=128)
def leaves_by(columns: tuple[Column, ...], *, mapped: bool) -> tuple[StatsLeaf, ...]:
    """Return the leaves of columns, which all files of a definition share."""
    return tuple(all_leaves(columns, mapped=mapped))


def all_leaves(columns: Sequence[Column], *, mapped: bool) -> Iterator[StatsLeaf]:
    """Yield the leaves of columns, in order."""
    names = [physical_name(column) if mapped else column.name for column in columns]
    for name, column in zip(names, columns, strict=True):
        if any(each.lower().startswith(f"{name.lower()}.") for each in names):
            continue
        try:
            node = read_type(column.type)
        except ValueError:
            continue
        if column.id:
            yield from leaves_in(node, column, (name,), mapped=mapped)


def leaves_in(
    node: TypeNode, column: Column, path: tuple[str, ...], *, mapped: bool
) -> Iterator[StatsLeaf]:
    """Yield a column, or the fields of its struct."""
    if node.word != "struct":
        if not node.fields:
            yield StatsLeaf(column.id, path, column.type)
        return
    yield from leaves_within(node, tree_of(column), path, mapped=mapped)


def leaves_within(
    node: TypeNode, tree: Tree, path: tuple[str, ...], *, mapped: bool
) -> Iterator[StatsLeaf]:
    """Yield the fields of a struct that have ids."""
    for field in node.fields:
        known = node_of(field.name, tree)
        if ID not in known:
            continue
        inner = (*path, known.get(IN_FILES, field.name) if mapped else field.name)
        if field.type.word == "struct":
            yield from leaves_within(field.type, known.get(WITHIN, {}), inner, mapped=mapped)
        elif not field.type.fields:
            yield StatsLeaf(known[ID], inner, text_of(field.type))


def text_of(node: TypeNode) -> str:
    """Return an atomic type as Spark SQL writes it."""
    return f"{node.word}({','.join(map(str, node.numbers))})" if node.numbers else node.word


def types_in(schema: Mapping[str, Any]) -> dict[int, str]:
    """Return the atomic types of a schema by ids, those within lists and maps left out."""
    found: dict[int, str] = {}
    left: list[Any] = [schema]
    while left:
        for field in fields_in(left.pop(), "the schema"):
            kind: IcebergType = field["type"]
            if isinstance(kind, str):
                found[field["id"]] = kind
            elif kind.get("type") == "struct":
                left.append(kind)
    return found


def at_path(stats: Mapping[str, Any], side: str, path: Sequence[str]) -> Any:
    """Return what one side of statistics has at a path, None without it."""
    found: Any = stats.get(side)
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def nulls_of(stats: Mapping[str, Any], leaf: StatsLeaf, rows: int, *, is_other: bool) -> int | None:
    """Return the number of NULLs of a leaf, None if it is not sure.

    Another writer's count beside loose bounds is sure only if it says none or all.
    """
    count = at_path(stats, "nullCount", leaf.path)
    if type(count) is not int or not 0 <= count <= rows:
        return None
    is_loose = is_other and stats.get(NOT_TIGHT) is False
    return None if is_loose and count not in (0, rows) else count


def ends_of(
    stats: Mapping[str, Any], leaf: StatsLeaf, kind: str, *, is_other: bool
) -> tuple[bytes | None, bytes | None]:
    """Return the bounds of a leaf in the bytes of a type, None for one that is not sure."""
    is_float = leaf.type.strip().lower() in FLOATS
    core = DOUBLE if is_float else parse_type(leaf.type)
    if core is None:
        return None, None
    low = core_value(at_path(stats, "minValues", leaf.path), core, is_float=is_float)
    high = core_value(at_path(stats, "maxValues", leaf.path), core, is_float=is_float)
    if core.kind is Kind.DOUBLE and low is None:
        # A writer may count NaN as the least value, so that nothing is known.
        return None, None
    low, high = widened(core, (low, high), is_float=is_float, is_other=is_other)
    if core.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) and high is not None:
        high += MILLISECOND
    if core.kind is Kind.STRING and is_other and high is not None:
        high = text_above(high)
    return bound_bytes(low, kind, up=False), bound_bytes(high, kind, up=True)


def core_value(value: Any, kind: SparkType, *, is_float: bool) -> Any:
    """Return a bound of JSON as a value of the core, None if it is unknown."""
    try:
        return None if value is None else value_of(value, kind, is_float=is_float)
    except TOO_ODD:
        return None


def bound_bytes(value: Any, kind: str, *, up: bool) -> bytes | None:
    """Return the bytes of a bound, further out where a type has no such value; None without any."""
    try:
        if value is None:
            return None
        if kind.startswith("decimal"):
            return packed(rounded(value, kind, up=up), kind)
        if kind in ("float", "double"):
            number = outer_float(float(value), up=up) if kind == "float" else float(value)
            # Both zeros are equal in SQL, and -0.0 comes first in a file of Iceberg.
            return packed(number or (0.0 if up else -0.0), kind)
        return packed(value, kind)
    except TOO_ODD:
        return None


def outer_float(number: float, *, up: bool) -> float:
    """Return the float of 32 bits at a number, or next to it on the outer side."""
    nearest = read_float(repr(number))
    is_outer = nearest >= number if up else nearest <= number
    if is_outer or math.isinf(nearest) or math.isnan(nearest):
        return nearest
    toward = math.inf if up else -math.inf
    step = max(abs(nearest) * 2.0**-23, 2.0**-149)
    return read_float(repr(nearest + math.copysign(step, toward)))


def text_above(text: str) -> str | None:
    """Return a text above all that begin with another one, None without one."""
    for at in range(len(text) - 1, -1, -1):
        following = ord(text[at]) + 1
        if following in SURROGATES:
            following = SURROGATES.stop
        if following <= HIGHEST:
            return text[:at] + chr(following)
    return None


def stats_of(entry: ManifestEntry, definition: TableDefinition) -> str:
    """Return the statistics of a manifest's entry as Delta's JSON, only what is sure.

    Columns have the names that they have in files of a table with this definition. Only the first
    columns have statistics, as many as in the ledger's own files, and none that the table leaves
    out. A number has bounds only if the entry says that the column has no NaN.
    """
    sides: tuple[dict[str, Any], ...] = ({}, {}, {})
    skipped = {key.column.lower() for key in list_of(definition, SKIPPED)}
    if asks_for_encryption(definition):
        skipped = {column.name.lower() for column in definition.columns}
    stated = [column for column in definition.columns if column.name.lower() not in skipped]
    for leaf in leaves_of(definition._replace(columns=stated))[:LEAVES_MAX]:
        put(sides, leaf.path, [*bound_texts(entry, leaf), null_text(entry, leaf)])
    lows, highs, nulls = sides
    return as_object(
        {"numRecords": str(entry.record_count), "minValues": lows, "maxValues": highs}
        | {"nullCount": nulls}
    )


def null_text(entry: ManifestEntry, leaf: StatsLeaf) -> str | None:
    """Return the number of NULLs of a leaf as JSON, None if it is not sure."""
    nulls = (entry.null_value_counts or {}).get(leaf.id)
    values = (entry.value_counts or {}).get(leaf.id, entry.record_count)
    if nulls is None or values != entry.record_count or not 0 <= nulls <= values:
        return None
    return str(nulls)


def bound_texts(entry: ManifestEntry, leaf: StatsLeaf) -> tuple[str | None, str | None]:
    """Return the bounds of a leaf as JSON, None for one that is not sure."""
    try:
        kind = iceberg_type(leaf.type, {})
    except NoIcebergTypeError:
        return None, None
    data = [(side or {}).get(leaf.id) for side in (entry.lower_bounds, entry.upper_bounds)]
    if not isinstance(kind, str):
        return None, None
    low, high = (None if each is None else value_in(each, kind) for each in data)
    if low is not None and high is not None and low > high:
        return None, None
    if kind in ("float", "double") and (entry.nan_value_counts or {}).get(leaf.id) != 0:
        return None, None
    return bound_text(low, kind, up=False), bound_text(high, kind, up=True)


def bound_text(value: Any, kind: str, *, up: bool) -> str | None:
    """Return a bound as Delta's JSON has it, None for a type without bounds there."""
    if value is None or kind in ("boolean", "binary"):
        return None
    if kind in ("float", "double"):
        return bound_json(finite, value)
    if kind == "string":
        return bound_json(high_text if up else low_text, value)
    if kind == "date":
        return bound_json(day_text, (value - FIRST_DAY).days)
    if kind in ("timestamp", "timestamptz"):
        spell, zone = high_time if up else low_time, "Z" if kind == "timestamptz" else ""
        return bound_json(lambda micros: f"{spell(micros)}{zone}", micros_of(value))
    return bound_json(lambda each: each, value)
