"""Declared writes: which rows of which tables a commit changed, at the grain of whole units.

A unit is a partition, the rows of a table without partitions, or a whole table. Two commits that
changed rows of one unit cannot both be right; commits that only insert always can.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypedDict, Unpack

from ledger.core.commands import CoarseWrite, Column, Property, TableDefinition, TableWrite
from ledger.core.ids import Layout, Operation, TableKind
from ledger.reads import TableRow

ColumnLike = Column | tuple[str, str]
"""A column, or its name and Spark SQL type."""

ROWS_ADDED: Final = CoarseWrite("table", "", "insert")


class DeclaredWrites:
    """What one txn declares, table by table; each unit and operation once."""

    def __init__(self) -> None:
        self._writes: dict[int, dict[CoarseWrite, None]] = {}
        self._read_at: dict[int, int] = {}

    def add(self, table: int, write: CoarseWrite, read_at: int) -> None:
        """Declare a write; of several `read_at` of a table the oldest counts, 0 is the snapshot."""
        self._writes.setdefault(table, {})[write] = None
        self._read_at[table] = min(read_at, self._read_at.get(table, read_at))

    def parts(self, taken: Iterable[int] = ()) -> list[TableWrite]:
        """Return the parts of the commit, by table id.

        Who took a write id in a table meant to write there: of the tables in `taken` those without
        a declared write count as inserted into, so that one dropped meanwhile is a conflict and not
        passed over.
        """
        implied = dict.fromkeys(taken, (ROWS_ADDED,))
        declared = {table: tuple(writes) for table, writes in self._writes.items()}
        return [
            TableWrite(table, self._read_at.get(table, 0), writes)
            for table, writes in sorted({**implied, **declared}.items())
        ]


def coarse_write(
    operation: Operation,
    row: TableRow | None,
    *,
    partition: str | None = None,
    whole_table: bool = False,
) -> CoarseWrite:
    """Return the write of one unit: of `partition`, else of the table as far as `row` tells.

    Without a row, that is of a table known by its id alone, the unit is the whole table, which
    errs to the side of conflict. Raises ValueError if a partitioned table is updated or deleted
    from and neither says where.
    """
    if partition is not None:
        if whole_table:
            raise ValueError("a write is of one partition or of the whole table, not of both")
        return CoarseWrite("partition", partition, operation)
    if whole_table or row is None:
        return CoarseWrite("table", "", operation)
    columns = ", ".join(row.definition.partition_columns)
    if not columns:
        return CoarseWrite("unpartitioned", "", operation)
    if operation == "insert":
        return CoarseWrite("table", "", operation)
    raise ValueError(
        f"table {row.name} is partitioned by {columns}: say partition='...' for each partition "
        f"whose rows the {operation} changed, or whole_table=True"
    )


class TableOptions(TypedDict, total=False):
    """What a table may be besides its columns; left out, it is managed, listed and unpartitioned.

    `location` is where its files lie, `properties` are table properties as Delta names them.
    """

    partition_columns: Sequence[str]
    kind: TableKind
    layout: Layout
    location: str
    properties: Mapping[str, str]


def table_definition(
    columns: Sequence[ColumnLike] = (), **options: Unpack[TableOptions]
) -> TableDefinition:
    """Return the definition of a table; columns without an id are numbered from 1."""
    return TableDefinition(
        options.get("kind", "managed"),
        options.get("layout", "listed"),
        options.get("location", ""),
        [column_of(each, number) for number, each in enumerate(columns, start=1)],
        list(options.get("partition_columns", ())),
        [Property(*each) for each in sorted(options.get("properties", {}).items())],
    )


def column_of(column: ColumnLike, number: int) -> Column:
    """Return a column, nullable and with this id if it is given by name and type alone."""
    return column if isinstance(column, Column) else Column(*column, nullable=True, id=number)
