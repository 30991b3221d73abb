"""Files by partition: the files of a table that may hold rows with given values of its columns.

A file has values of the columns that the table was partitioned by when the file was added. Values
are compared as the types of their columns compare them. A value whose column is in doubt may match
any column.
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


class FormerColumn(NamedTuple):
    """A partition column at some time; type "" and id 0 if not known."""

    name: str
    type: str
    id: int

    def is_same(self, other: "FormerColumn") -> bool:
        """Return whether both are certainly one column: a replaced table may use ids again."""
        has_other_id = bool(self.id and other.id) and self.id != other.id
        return self.name.lower() == other.name.lower() and not has_other_id


Columns = Sequence[FormerColumn]


def columns_of(definition: TableDefinition | None) -> Columns:
    """Return the partition columns of a definition, [] for None."""
    return [FormerColumn(*each) for each in partitioned_by(definition)] if definition else []


def columns_at(reads: Reads, row: TableRow, version: int | None, position: int | None) -> Columns:
    """Return the partition columns as of a version or a position, by default the present ones."""
    if version is not None:
        then = reads.version_row(row.table, version=version)
        position = then.position if then is not None else None
    return columns_of(reads.definition(row.table, position))


def columns_by_add(reads: Reads, row: TableRow, files: Sequence[FileRow]) -> Mapping[int, Columns]:
    """Return the partition columns of the values of files, by the position of their add."""
    now = columns_of(row.definition)
    return {
        added: now if added > row.partitioned else columns_at(reads, row, None, added)
        for added in {file.added for file in files}
    }


def of_partition(
    files: Sequence[FileRow], columns: Columns, by_add: Mapping[int, Columns], wanted: Sequence[str]
) -> Sequence[FileRow]:
    """Return the files that may hold rows with the values of `column=value` pairs.

    An empty text is NULL, as in the log, and so is Hive's name for it. A file without a value of a
    column, because the table was partitioned otherwise when it was added, may hold rows with any
    value; so may a file whose value does not fit the type. Raises BadParameter for a name that is
    not a partition column, a value that does not fit its type, or a column given twice.
    """
    values: dict[FormerColumn, str | None] = {}
    for text in wanted:
        name, sign, value = text.partition("=")
        column = next((each for each in columns if each.name.lower() == name.lower()), None)
        if column is None:
            known = ", ".join(each.name for each in columns) or "none"
            raise typer.BadParameter(f"--partition must name one of {known}, got {name!r}")
        if not sign:
            raise typer.BadParameter(f"--partition must be {name}=VALUE, got {name!r}")
        if column in values:
            raise typer.BadParameter(f"--partition must name a column once, got {name!r} twice")
        if identity_of(null_or(value), column.type) is UNCASTABLE and column.type:
            raise typer.BadParameter(f"a value of {name} must be a {column.type}, got {value!r}")
        values[column] = null_or(value)
    return [file for file in files if may_hold(file, by_add[file.added], values)]


def may_hold(file: FileRow, columns: Columns, wanted: Mapping[FormerColumn, str | None]) -> bool:
    """Return whether a file may hold rows with these values, by its partition values."""
    return all(
        may_be_equal(own, column.type, value)
        for column, own in zip(columns, file.partition, strict=False)
        for asked, value in wanted.items()
        if column.is_same(asked)
    )


def may_be_equal(own: str | None, spark_type: str, value: str | None) -> bool:
    """Return whether two values of a type may be equal; a value that does not fit may be any."""
    keys = {identity_of(own, spark_type), identity_of(value, spark_type)}
    return len(keys) == 1 or UNCASTABLE in keys
