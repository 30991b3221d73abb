"""Reads of a table's files, and what a commit must remember of them.

A read is served at one position: it shows every commit up to that position and no later one. A
commit planned from the read loses to every later commit that changed what was read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ledger.core.predicates.predicates import CompiledPredicate, compile_predicate
from ledger.core.state.traits import traits_of
from ledger.errors import FilesUnknownError, UnreadableTableError
from ledger.log.wire.file_list import AddFile
from ledger.reads.amounts import amount
from ledger.reads.port import FileRow, TableRow
from ledger.reads.rows import of_files


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of a table that may hold rows of a condition, as of `position`; iterate over them.

    `where` is the condition in the form of `ledger.core.predicates`. Files are left out by
    partition alone, so these files may still hold other rows. With `whole` the reader depends on
    every file of the table.
    """

    table: TableRow
    position: int
    where: str
    files: Sequence[FileRow] = field(repr=False)
    whole: bool = False

    @property
    def paths(self) -> Sequence[str]:
        """The paths of the files.

        Raises UnreadableTableError if some rows are in the log, where no path leads.
        """
        if any(file.rows for file in self.files):
            raise UnreadableTableError(
                f"table {self.table.name} has rows in the log, which have no path: read it with "
                "Ledger.scan, or put its rows into files with lakeledger table optimize"
            )
        return [file.path for file in self.files]

    def __iter__(self) -> Iterator[FileRow]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"<TableFiles: {self._said()}>"

    def _repr_html_(self) -> str:
        return of_files(self._said(), self.files)

    def _said(self) -> str:
        return (
            f"{amount(len(self.files), 'file')} of {self.table.name}, at position {self.position}"
        )


def found_at(files: object, table: int) -> int:
    """Return the position at which files of a table were read, 0 if unknown.

    Raises ValueError for files that were read from another table.
    """
    if not isinstance(files, TableFiles):
        return 0
    if files.table.table != table:
        raise ValueError(
            f"the files must be read from table {table}, got files of table {files.table.name} "
            f"({files.table.table})"
        )
    return files.position


def is_in_folders(row: TableRow) -> bool:
    """Return whether the rows of a table lie in folders, whose files the ledger does not list."""
    return row.definition.kind != "managed" or row.definition.layout == "directories"


def check_listed(row: TableRow) -> None:
    """Raise FilesUnknownError for a table whose files the ledger does not list."""
    if not is_in_folders(row):
        return
    if row.definition.kind == "view":
        raise FilesUnknownError(
            f"{row.name} is a view, which has no files. Read it with ledger.sql or Spark SQL",
            table=row.table,
        )
    what, way = "has layout directories", "ledger.scan or Spark SQL"
    if row.definition.kind == "external":
        what, way = "is external", "spark_sink.cached_table"
    raise FilesUnknownError(
        f"table {row.name} {what}: its rows lie in folders below its location, and the ledger does "
        f"not list their files. Read it with {way}, or list the folders of the valid write ids "
        "(valid_write_ids). A txn that depends on its rows calls depends_on",
        table=row.table,
    )


def may_concern(scan: CompiledPredicate, file: FileRow, table: TableRow, columns: int) -> bool:
    """Return whether a scan may concern a file; a file that cannot be judged counts as read.

    A file cannot be judged if its values may belong to other partition columns than the `columns`
    present ones. A read of an earlier position finds no later file anyway.
    """
    values = tuple(file.partition)
    return file.added <= table.partitioned or len(values) != columns or scan.matches(values)


def check_none_added(found: TableFiles, added: Sequence[AddFile], txn: int) -> None:
    """Raise FilesUnknownError if a read found no file but leaves out files its txn added."""
    schema = traits_of(found.table.definition).schema
    scan = compile_predicate(found.where, schema, derive=True)
    own = [
        each
        for each in added
        if scan.always or len(each.partition) != len(schema) or scan.matches(each.partition)
    ]
    if own:
        raise FilesUnknownError(
            f"no matching file of table {found.table.name} was committed before txn {txn} opened. "
            f"The txn itself added {len(own)} matching files, such as {own[0].path}, and no read "
            "returns those: keep the list given to add_files, or read after the commit",
            table=found.table.table,
        )
