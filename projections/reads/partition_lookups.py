"""Partition lookups: the partitions of a table that a condition may concern, from rows.

A condition is evaluated once for each partition. A partition of former partition columns may hold
rows of any partition of now, so every condition may concern it.
"""

from collections.abc import Callable, Iterator

from ledger.core.limits import NUMBER_MAX
from ledger.core.partitions.names import Values
from ledger.core.predicates.predicates import compile_predicate
from ledger.core.state.traits import traits_of
from ledger.reads.rows import PartitionRow, TableRow
from projections.rows.keys import PARTITION, last_number, number_key, pair_key
from projections.rows.partitions import PartitionFields, read_partition
from projections.store.port import RowReader, prefix_end

Concerns = Callable[[PartitionFields], bool]


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


def concerns(table: TableRow, where: str) -> Concerns | None:
    """Return whether a condition may concern a partition, None if it may concern every one."""
    if not where:
        return None
    schema = traits_of(table.definition).schema
    # What follows from parts of a condition is weaker than it: no partition is left out wrongly.
    scan = compile_predicate(where, schema, derive=True)
    if scan.always:
        return None

    def may_concern(partition: PartitionFields) -> bool:
        values = partition.values
        is_judged = partition.partitioned == table.partitioned and len(values) == len(schema)
        return not is_judged or scan.matches(values)

    return may_concern


def partitions(
    rows: RowReader, table: TableRow, where: str = "", after: int = 0
) -> Iterator[tuple[int, PartitionFields]]:
    """Return the partitions that a condition may concern, by number; some have no live file."""
    may_concern = concerns(table, where)
    first = pair_key(PARTITION, table.table, min(max(0, after), NUMBER_MAX) + 1)
    for key, data in rows.scan(first, prefix_end(number_key(PARTITION, table.table))):
        fields = read_partition(data)
        if may_concern is None or may_concern(fields):
            yield last_number(key), fields


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
