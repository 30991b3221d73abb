"""Partition lookups: the partitions of a table that a condition may concern, from rows.

A condition is evaluated once for each partition; where it names values of a partition column, only
for the partitions with these values. A partition of former partition columns may hold
rows of any partition of now, so every condition may concern it.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from ledger.core.limits import NUMBER_MAX
from ledger.core.partitions.keys import UNCASTABLE, Key
from ledger.core.partitions.names import Values
from ledger.core.predicates.predicates import CompiledPredicate, compile_predicate
from ledger.core.state.traits import traits_of
from ledger.reads.rows import PartitionRow, TableRow
from projections.rows.keys import (
    PARTITION,
    PARTITION_NUMBER,
    PARTITION_VALUE,
    last_number,
    number_key,
    pair_key,
    read_value,
)
from projections.rows.tables.partitions import (
    OTHER_COLUMNS,
    PartitionFields,
    read_partition,
    value_key,
)
from projections.store.port import RowReader, prefix_end

# A condition with more values costs no more if all partitions are judged.
VALUES_MAX: Final = 1_000


class KnownValues(dict[int, Values]):
    """The values of the partitions of a table by number, each looked up once."""

    def __init__(self, rows: RowReader, table: int) -> None:
        super().__init__()
        self._rows = rows
        self._table = table

    def __missing__(self, number: int) -> Values:
        data = self._rows.get(pair_key(PARTITION, self._table, number))
        assert data is not None, f"partition {number} of table {self._table} has no row"
        found = self[number] = read_partition(data).values
        return found


def partitions(
    rows: RowReader, table: TableRow, where: str = "", after: int = 0
) -> Iterator[tuple[int, PartitionFields]]:
    """Return the partitions that a condition may concern, by number; some have no live file."""
    first = min(max(0, after), NUMBER_MAX) + 1
    if not where:
        yield from every(rows, table.table, first)
        return
    schema = traits_of(table.definition).schema
    # What follows from parts of a condition is weaker than it: no partition is left out wrongly.
    scan = compile_predicate(where, schema, derive=True)
    found = every(rows, table.table, first)
    if (column := indexed(scan)) is not None:
        numbers = found_by_value(rows, table, column, scan.equals[column])
        found = numbered(rows, table.table, [each for each in numbers if each >= first])
    for number, fields in found:
        values = fields.values
        is_judged = fields.partitioned == table.partitioned and len(values) == len(schema)
        if scan.always or not is_judged or scan.matches(values):
            yield number, fields


def every(rows: RowReader, table: int, first: int) -> Iterator[tuple[int, PartitionFields]]:
    """Return the partitions of a table from a number on."""
    start, end = pair_key(PARTITION, table, first), number_key(PARTITION, table)
    for key, data in rows.scan(start, prefix_end(end)):
        yield last_number(key), read_partition(data)


def numbered(
    rows: RowReader, table: int, numbers: Sequence[int]
) -> Iterator[tuple[int, PartitionFields]]:
    """Yield partitions in the order of these numbers, each with its own."""
    keys = [pair_key(PARTITION, table, number) for number in numbers]
    for number, data in zip(numbers, rows.get_many(keys), strict=True):
        assert data is not None, f"partition {number} of table {table} has no row"
        yield number, read_partition(data)


def indexed(scan: CompiledPredicate) -> int | None:
    """Return the column by whose values the partitions of a scan are found, None = by none."""
    if scan.always or not scan.equals:
        return None
    column = min(scan.equals, key=lambda each: len(scan.equals[each]))
    return column if len(scan.equals[column]) <= VALUES_MAX else None


def found_by_value(
    rows: RowReader, table: TableRow, column: int, keys: AbstractSet[Key]
) -> list[int]:
    """Return the numbers of the partitions that may have one of the values in a column.

    Values that are none of the type may be any, and so may values of former columns.
    """
    number, since = table.table, table.partitioned
    wanted = {value_key(column, key) for key in (*keys, UNCASTABLE)} | {OTHER_COLUMNS}
    prefix = pair_key(PARTITION_VALUE, number, since)
    found = {
        last_number(key)
        for each in wanted
        for key, _ in rows.scan(prefix + each, prefix_end(prefix + each))
    }
    former = pair_key(PARTITION_NUMBER, number, 0), pair_key(PARTITION_NUMBER, number, since)
    found.update(read_value(data) for _, data in rows.scan(*former))
    return sorted(found)


def partition_row(table: int, number: int, fields: PartitionFields) -> PartitionRow:
    """Return a partition, made from its row."""
    is_counted = fields.counted == fields.files
    return PartitionRow(
        table,
        number,
        fields.values,
        partitioned=fields.partitioned,
        files=fields.files,
        size=int(fields.size),
        rows=int(fields.rows) if is_counted else None,
    )
