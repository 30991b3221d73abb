"""What is known of the values of a column: from the statistics of a file, or from its footer.

ColumnBounds may be wider than the values: texts are cut, times are rounded to milliseconds, and
NaN, which Spark puts above all numbers, is in no bound. Bounds of other writers are made wider by
`foreign_bounds`.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.core.partitions.values import form_of, read_float
from ledger.core.predicates.types import (
    BITS,
    DOUBLE,
    FLOATS,
    NUMBERS,
    Kind,
    SparkType,
    UndecidableError,
    parse_type,
)
from ledger.files.bloom_filters import Has
from ledger.files.foreign_bounds import is_foreign, widened
from ledger.reads.port import FileRow

TEXT_CHARS_MAX: Final = 32
"""Writers cut texts to this length, or to a greater one."""
MILLISECOND: Final = timedelta(milliseconds=1)
FILTER_SHARE: Final = 4
"""A filter is read where the row group is larger by this factor."""

TOO_ODD: Final = (
    ArithmeticError,
    AttributeError,
    KeyError,
    TypeError,
    UndecidableError,
    ValueError,
)


class ColumnBounds(NamedTuple):
    """What is known of the values of a column: None = unknown. `rows` counts NULLs too.

    `low` and `high` are values of the core's casts. With `is_cut` texts may go on behind them.
    `has` returns whether a value of `type` may be among them, None = not known.
    """

    type: SparkType
    low: Any = None
    high: Any = None
    nulls: int | None = None
    rows: int | None = None
    is_cut: bool = False
    has: Has | None = None

    @property
    def is_all_null(self) -> bool:
        """Whether every value is NULL."""
        return self.rows is not None and self.nulls is not None and self.nulls >= self.rows


BoundsOf = Callable[[str], ColumnBounds | None]
"""Returns the bounds of a column, by its name in any case; None = nothing is known."""


def core_type(column: TableColumn) -> tuple[SparkType, bool] | None:
    """Return a column's type as the core knows it, and whether it is a FLOAT; None = unknown."""
    if column.declared.strip().lower() in FLOATS:
        return DOUBLE, True
    found = parse_type(column.declared)
    return None if found is None else (found, False)


def column_then(name: str, schema: TableSchema, written: TableSchema) -> TableColumn | None:
    """Return what a column was when its file was added; None if it was absent, or otherwise."""
    now = schema.find(name)
    if now is None or schema is written:
        return now
    return next((column for column in written.columns if now.id and column.id == now.id), None)


def stats_bounds(file: FileRow, schema: TableSchema, written: TableSchema) -> BoundsOf:
    """Return the bounds in the statistics of a file, in Delta's JSON."""
    found, is_other = parsed_stats(file.stats), is_foreign(file.path)

    def bounds(name: str) -> ColumnBounds | None:
        now, then = schema.find(name), column_then(name, schema, written)
        if now is None or now.name in schema.partition_columns:
            return None
        if then is None:
            return initial_bounds(now, found, written, is_other=is_other)
        if is_ambiguous(then.physical, written):
            return None
        return bounds_in(found, then, now, is_other=is_other)

    return bounds


def initial_bounds(
    column: TableColumn, stats: Mapping[str, Any], written: TableSchema, *, is_other: bool
) -> ColumnBounds | None:
    """Return the bounds of a column that a file lacks: all its rows have one value.

    Nothing is known of a column without such a value or without an id, nor of files of others,
    which may have columns beside those of their table.
    """
    type_, rows = core_type(column), stats.get("numRecords")
    has_ids = column.id and any(each.id for each in written.columns)
    if type_ is None or column.initial is None or not has_ids or is_other:
        return None
    if type(rows) is not int:
        return None
    form = form_of(column.declared)
    value = column.initial if form is None else form.read(column.initial)
    if value != value:  # noqa: PLR0124 - NaN is in no bound
        return None
    return ColumnBounds(type_[0], value, value, 0, rows)


def is_ambiguous(name: str, written: TableSchema) -> bool:
    """Return whether a name may mean a field of a struct: some writers take one for the other."""
    lower = name.lower()
    return any(lower.startswith(f"{column.physical.lower()}.") for column in written.columns)


def parsed_stats(stats: str) -> Mapping[str, Any]:
    """Return the statistics of a text, empty for anything that is none."""
    try:
        found = json.loads(stats, parse_float=Decimal) if stats else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def bounds_in(
    stats: Mapping[str, Any], then: TableColumn, now: TableColumn, *, is_other: bool
) -> ColumnBounds | None:
    """Return the bounds of a column in statistics; a bound that is not understood is unknown."""
    type_, before = core_type(now), core_type(then)
    if type_ is None or before is None or not is_same_order(before[0], type_[0]):
        return None
    kind, is_float = type_
    low = bound(stats, "minValues", then.physical, kind, is_float=is_float)
    high = bound(stats, "maxValues", then.physical, kind, is_float=is_float)
    if kind.kind is Kind.DOUBLE and low is None:
        # A writer may count NaN as the least value, so that nothing is known.
        high = None
    low, high = widened(kind, (low, high), is_float=is_float, is_other=is_other)
    if kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) and high is not None:
        high += MILLISECOND
    nulls, rows = stats.get("nullCount"), stats.get("numRecords")
    count = nulls.get(then.physical) if isinstance(nulls, dict) else None
    return ColumnBounds(
        kind,
        low,
        high,
        count if type(count) is int else None,
        rows if type(rows) is int else None,
        is_cut=is_cut(high, is_other=is_other),
    )


def is_cut(high: Any, *, is_other: bool) -> bool:
    """Return whether a bound may be the beginning of a longer text; others cut at any letter."""
    return isinstance(high, str) and (is_other or len(high) >= TEXT_CHARS_MAX)


def is_same_order(before: SparkType, now: SparkType) -> bool:
    """Return whether values keep their order from one type of a column to the next."""
    kinds = {before.kind, now.kind}
    return before == now or kinds <= NUMBERS or kinds == {Kind.DATE, Kind.TIMESTAMP_NTZ}


def bound(
    stats: Mapping[str, Any], side: str, name: str, kind: SparkType, *, is_float: bool
) -> Any:
    """Return a bound of a column as a value of the core, None if it is unknown."""
    values = stats.get(side)
    value = values.get(name) if isinstance(values, dict) else None
    if value is None:
        return None
    try:
        return value_of(value, kind, is_float=is_float)
    except TOO_ODD:
        return None


def value_of(  # noqa: PLR0911 - a case for each type
    value: Any, kind: SparkType, *, is_float: bool
) -> Any:
    """Return a bound of JSON as a value of the core; raises an error for another form."""
    if kind.kind is Kind.STRING:
        return str.__str__(value)
    if kind.kind is Kind.BOOLEAN:
        return {True: True, False: False}[value]
    if kind.kind in BITS:
        return int(value) if type(value) is int else wrong(value)
    if kind.kind is Kind.DOUBLE:
        number = read_float(str(value)) if is_float else float(value)
        return number if number == number else wrong(value)  # noqa: PLR0124 - only NaN differs
    if kind.kind is Kind.DECIMAL:
        return Decimal(str(value))
    if kind.kind is Kind.DATE:
        return date.fromisoformat(value)
    moment = datetime.fromisoformat(value)
    if kind.kind is Kind.TIMESTAMP and moment.tzinfo is None:
        return wrong(value)  # An instant without a zone: the writer's zone is not known.
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def wrong(value: Any) -> Any:
    """Raise ValueError for a bound of another form."""
    raise ValueError(f"{value!r} is no bound")


def group_bounds(
    group: Any,
    leaves: Mapping[str, int],
    schema: TableSchema,
    filters: Callable[[Any], Has] | None = None,
    *,
    is_other: bool,
) -> BoundsOf:
    """Return the bounds in the footer of a Parquet file for a row group.

    `leaves` are the places of columns that have the table's types, by their names in lower case.
    `filters` returns the Bloom filter of a column of the group. `is_other` says that the file is of
    another writer.
    """

    def bounds(name: str) -> ColumnBounds | None:
        column, leaf = schema.find(name), leaves.get(name.lower())
        type_ = None if column is None else core_type(column)
        if leaf is None or type_ is None:
            return None
        part = group.column(leaf)
        has = filters(part) if filters is not None and is_worth(part, group) else None
        found = part.statistics
        if found is None:
            return None if has is None else ColumnBounds(type_[0], has=has)
        nulls = found.null_count if found.has_null_count else None
        made = ColumnBounds(type_[0], nulls=nulls, rows=group.num_rows, has=has)
        if not found.has_min_max:
            return made
        ends = plain_time(found.min), plain_time(found.max)
        if any(type(end) is not PYTHON_TYPES.get(type_[0].kind) for end in ends):
            return made
        low, high = widened(type_[0], ends, is_float=type_[1], is_other=is_other)
        return made._replace(low=low, high=high, is_cut=is_cut(high, is_other=is_other))

    return bounds


def is_worth(part: Any, group: Any) -> bool:
    """Return whether a column has a filter that is far smaller than its row group."""
    length = part.bloom_filter_length
    return length is not None and length * FILTER_SHARE < group.total_byte_size


def plain_time(value: Any) -> Any:
    """Return an instant as the core has it, in UTC and without a zone; other values as they are."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


PYTHON_TYPES: Final[Mapping[Kind, type]] = {
    **dict.fromkeys(BITS, int),
    Kind.BOOLEAN: bool,
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.STRING: str,
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
    Kind.TIMESTAMP_NTZ: datetime,
}
