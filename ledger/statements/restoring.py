"""RESTORE: a table gets back the columns and the rows of an earlier version, by a new version.

A file that has its columns under the names of that version comes back as it is. Any other file is
written anew, since a reader looks for a column by the names of the time when the file was added.
Rows in the log come back as a file if the table has no rows there any more.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ledger.core.partitions.file_paths import path_key
from ledger.errors import UnreadableTableError
from ledger.files.file_columns import has_names_of
from ledger.files.storage import Storage, storage_at
from ledger.log.wire.file_extras import TRIMMED, is_sealed
from ledger.properties.column_mapping import columns_as_then
from ledger.reads.amounts import amount
from ledger.reads.rows import FileRow
from ledger.snapshot.as_of import AsOf
from ledger.snapshot.table_snapshot import TableSnapshot
from ledger.statements.constraints import RowChecks
from ledger.statements.rewrites.optimizing import check_partitions
from ledger.statements.target import StatementTable
from ledger.work.noted_rows import added_again

RESTORE = "RESTORE"


class RestoredFiles(NamedTuple):
    """How many files went, and how many came back, some of them written anew."""

    removed: int
    added: int


def restore(table: StatementTable, as_of: AsOf) -> RestoredFiles:
    """Give a table the columns and the rows that it had at a version, a position or a time.

    Properties stay as they are. Raises ValueError without a place and for a table that lay at
    another location, UnreadableTableError if a file of that version was deleted since, and
    ConstraintViolatedError for a row that breaks a constraint of today.
    """
    if as_of.is_now:
        raise ValueError("name what to restore: version, position or at")
    table.check_listed()
    then = table.work.snapshot(table.number, as_of)
    if then.definition.location != table.definition.location:
        raise ValueError(
            f"table {table.row.name} was at {then.definition.location} then, and its files are not "
            "copied: read that version, and overwrite the table with its rows"
        )
    key = key_of(table.definition.location)
    before = {key(file): file for file in table.read(None)}
    wanted = {key(file): file for file in then.read().files}
    reshape(table, then)
    gone = [file for name, file in before.items() if name not in wanted]
    back = [file for name, file in wanted.items() if name not in before]
    check_there(table.definition.location, back)
    check_files(table, back)
    as_they_are = [file for file in back if is_of_schema(table, then, file)]
    anew = [file for file in back if file not in as_they_are]
    adds = [added_again(file) for file in as_they_are] + list(
        table.write(rows_of(table, then, anew))
    )
    table.replace(gone, adds, RESTORE)
    return RestoredFiles(len(gone), len(adds))


def reshape(table: StatementTable, then: TableSnapshot) -> None:
    """Let a table take the columns of an earlier state with the rows, if they differ."""
    now, former = table.definition, then.definition
    columns = columns_as_then(now, former)
    if columns != list(now.columns) or former.partition_columns != now.partition_columns:
        table.evolve(columns, former.partition_columns)


def is_of_schema(table: StatementTable, then: TableSnapshot, file: FileRow) -> bool:
    """Return whether a file has the columns of a table as a file that is written now has them."""
    schema = then.schema_of(file)
    is_divided_alike = list(schema.partition_columns) == list(table.schema.partition_columns)
    # Encrypted rows are of their table alone, and the key of former ones may be dropped any time.
    has_clear_blocks = bool(table.schema.inline) and not table.schema.encrypted
    is_in_place = not file.rows or (has_clear_blocks and not is_sealed(file.rows))
    return is_in_place and is_divided_alike and has_names_of(schema, table.schema)


def rows_of(table: StatementTable, then: TableSnapshot, files: Sequence[FileRow]) -> Iterator[Any]:
    """Yield the rows of files of an earlier state, file by file."""
    for file in table.shown(files):
        rows = table.rows(file, written=then.schema_of(file))
        check_partitions(table.schema, rows)
        yield rows


def check_files(table: StatementTable, files: Sequence[FileRow]) -> None:
    """Raise ConstraintViolatedError if a row in files breaks a constraint of their table."""
    checks = RowChecks(table.row.name, table.definition, table.zone)
    if not checks.constraints:
        return
    names = {name for constraint in checks.constraints for name in constraint.condition.columns}
    columns = [column.name for column in table.schema.columns if column.name in names]
    with table.judge() as judge:
        for file in table.shown(files):
            checks.passed(judge, table.rows(file, columns or None))


def key_of(location: str) -> Callable[[FileRow], tuple[str, str]]:
    """Return a function that returns what identifies a file of a table."""
    return lambda file: (path_key(file.path, location), file.vector)


def check_there(location: str, files: Sequence[FileRow]) -> None:
    """Raise UnreadableTableError for a file that was deleted."""
    storage = storage_at(location)
    lost = [file.path for file in files if not is_there(storage, file)]
    if lost:
        raise UnreadableTableError(
            f"that version lacks {amount(len(lost), 'file')}, deleted since, such as {lost[0]}: "
            "choose a later version"
        )


def is_there(storage: Storage, file: FileRow) -> bool:
    """Return whether the rows of a file are still stored, or in the log."""
    return file.rows != TRIMMED if file.rows else storage.exists(file.path)
