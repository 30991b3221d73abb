"""Files by partition: which files of a table may hold rows with given values of its columns.

A file has values of the columns that the table was partitioned by when the file was added. Values
are compared as the types of their columns compare them. Where it is in doubt which column a value
is of, it may be any.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import typer

from ledger.core.commands import TableDefinition
from ledger.core.partitions.keys import UNCASTABLE
from ledger.core.partitions.names import null_or
from ledger.core.partitions.units import identity_of
from ledger.core.state.traits import partitioned_by
from ledger.reads.port import FileRow, Reads, TableRow


class PartitionColumn(NamedTuple):
    """A partition column as it was at some time; type "" and id 0 = not known."""

    name: str
    type: str
    id: int

    def is_same(self, other: "PartitionColumn") -> bool:
        """Tell whether both are one column for certain: a table made anew may give ids again."""
        has_other_id = bool(self.id and other.id) and self.id != other.id
        return self.name.lower() == other.name.lower() and not has_other_id


Columns = Sequence[PartitionColumn]


def columns_of(definition: TableDefinition | None) -> Columns:
    """Return the partition columns of a definition, none without one."""
    return [PartitionColumn(*each) for each in partitioned_by(definition)] if definition else []


def columns_at(reads: Reads, row: TableRow, version: int | None, position: int | None) -> Columns:
    """Return the partition columns as of a version or a position, by default as they are."""
    if version is not None:
        then = reads.version_row(row.table, version=version)
        position = then.position if then is not None else None
    return columns_of(reads.definition(row.table, position))


def columns_by_add(reads: Reads, row: TableRow, files: Sequence[FileRow]) -> Mapping[int, Columns]:
    """Return the partition columns that the values of files are of, by where they were added."""
    now = columns_of(row.definition)
    return {
        added: now if added > row.partitioned else columns_at(reads, row, None, added)
        for added in {each.added for each in files}
    }


def of_partition(
    files: Sequence[FileRow],
    columns: Columns,
    by_add: Mapping[int, Columns],
    wanted: Sequence[str],
) -> Sequence[FileRow]:
    """Return the files that may hold rows with the values of `column=value` pairs.

    An empty text is NULL, as is what Hive writes for it, and as it is in the log. A file that has
    no value of a column, because the table was partitioned otherwise when it was added, may hold
    rows of any; so may one whose value is none of its type. Raises BadParameter for what names no
    partition column, no value of it, or one twice.
    """
    values: dict[PartitionColumn, str | None] = {}
    for text in wanted:
        name, sign, value = text.partition("=")
        column = next((each for each in columns if each.name.lower() == name.lower()), None)
        if column is None:
            known = ", ".join(each.name for each in columns) or "none"
            raise typer.BadParameter(f"{name!r} is no partition column; there is: {known}")
        if not sign:
            raise typer.BadParameter(f"{name!r} is without a value; write {name}=VALUE")
        if column in values:
            raise typer.BadParameter(f"{name!r} is given twice; a file has one value of it")
        if identity_of(null_or(value), column.type) is UNCASTABLE and column.type:
            raise typer.BadParameter(f"{value!r} is no {column.type}, which {name} holds")
        values[column] = null_or(value)
    return [file for file in files if may_hold(file, by_add[file.added], values)]


def may_hold(file: FileRow, columns: Columns, wanted: Mapping[PartitionColumn, str | None]) -> bool:
    """Tell whether a file may hold rows with these values, by its own values of some columns."""
    return all(
        may_be_equal(own, column.type, value)
        for column, own in zip(columns, file.partition, strict=False)
        for asked, value in wanted.items()
        if column.is_same(asked)
    )


def may_be_equal(own: str | None, spark_type: str, value: str | None) -> bool:
    """Tell whether two values of a type may be equal; what is none of the type may be any."""
    keys = {identity_of(own, spark_type), identity_of(value, spark_type)}
    return len(keys) == 1 or UNCASTABLE in keys
