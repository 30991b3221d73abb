"""Reads of a table's files, and what a commit must remember of them.

A read is served at one position: it shows every commit up to that position and no later one. A
commit planned from the read loses to every later commit that changed what was read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ledger.core.limits import PREDICATE_CHARS_MAX
from ledger.core.predicates.predicates import CompiledPredicate, compile_predicate
from ledger.core.predicates.tree import TRUE, TRUE_PREDICATE, Node
from ledger.core.state.traits import partitioned_by, traits_of
from ledger.definitions.client_reads import View
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.errors import FilesUnknownError
from ledger.expressions.condition_columns import check_columns
from ledger.log.wire.file_list import AddFile
from ledger.reads.amounts import amount
from ledger.reads.errors import unknown_table, unknown_version
from ledger.reads.port import FileRow, Reads, TableRow
from ledger.reads.rows import of_files
from ledger.reads.whole_numbers import whole as whole_number
from ledger.session.receipt import Token


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
        """The paths of the files."""
        return [each.path for each in self.files]

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


def read_table(
    view: View,
    table: int,
    where: Node | None,
    *,
    version: int | None = None,
    position: Token | int | None = None,
    whole: bool = False,
    own: TableRow | None = None,
    time_zone: ZoneLike | None = None,
) -> TableFiles:
    """Return the files of a table at a version or a position, else at the newest position read.

    `own` is the table as a txn has changed it. `time_zone` is the zone of the condition, by default
    the client's. Raises UnknownTableError, UnknownVersionError, ReaderBehindError,
    FilesUnknownError, and ValueError for both a version and a position, or for position 0.
    """
    version = None if version is None else whole_number("version", version)
    if version is not None and position is not None:
        raise ValueError("give version or position, not both")
    place = 0 if position is None else view.position_of(position)
    if not place and position is not None:
        raise ValueError("position must be 1 or more, got 0: the log begins with 1")
    reads = view.reads(0 if position is None else position)
    if version is not None:
        place = position_of_version(reads, table, version)
    zone = view.zone if time_zone is None else zone_named(time_zone)
    return read_files(
        reads, table, where, place or reads.position(), whole=whole, own=own, zone=zone
    )


def read_files(
    reads: Reads,
    table: int,
    where: Node | None,
    position: int,
    *,
    whole: bool = False,
    own: TableRow | None = None,
    zone: str = "",
) -> TableFiles:
    """Return the files of a table at a position that `reads` has reached.

    Raises UnknownTableError, UnknownColumnError, and FilesUnknownError for a table whose files the
    ledger does not list.
    """
    row = known_row(reads, table)
    tree = condition_of(where, reads, row, position, own, zone=zone).to_wire()
    check_listed(row)
    if own is not None and partitioned_by(own.definition) != partitioned_by(row.definition):
        # The condition names columns as the txn has them: to others it means other partitions.
        tree = TRUE_PREDICATE
    # The reads take no longer condition.
    asked = tree if where is not None and len(tree) <= PREDICATE_CHARS_MAX else ""
    files = reads.files(table, where=asked, position=position)
    return TableFiles(row, position, tree, files, whole)


def scan_of(
    view: View,
    table: int,
    where: Node | None,
    position: int,
    own: TableRow | None,
    *,
    time_zone: ZoneLike | None = None,
) -> TableFiles:
    """Return a read of a table whose rows lie in folders: its files are not known.

    Without a condition everything is read. Raises as `read_files`.
    """
    reads = view.reads(position)
    row = known_row(reads, table)
    zone = view.zone if time_zone is None else zone_named(time_zone)
    tree = condition_of(where, reads, row, position, own, zone=zone)
    return TableFiles(row, position, tree.to_wire(), (), whole=where is None)


def condition_of(
    where: Node | None,
    reads: Reads,
    row: TableRow,
    position: int,
    own: TableRow | None = None,
    *,
    zone: str = "",
) -> Node:
    """Return a condition on a table, as the time zone `zone` means it, "" = UTC; None is TRUE.

    `own` is the table as a txn has changed it. Raises UnknownColumnError for a column that the
    table does not have.
    """
    if where is None:
        return TRUE
    check_columns(where, reads, row, position, own)
    return where.in_zone(zone)


def is_in_folders(row: TableRow) -> bool:
    """Return whether the rows of a table lie in folders, whose files the ledger does not list."""
    return row.definition.kind == "external" or row.definition.layout == "directories"


def check_listed(row: TableRow) -> None:
    """Raise FilesUnknownError for a table whose files the ledger does not list."""
    if not is_in_folders(row):
        return
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


def known_row(reads: Reads, table: int) -> TableRow:
    """Return the row of a table; raises UnknownTableError."""
    row = reads.table(table)
    if row is None:
        raise unknown_table(table, reads.position())
    return row


def position_of_version(reads: Reads, table: int, version: int) -> int:
    """Return the position at which a table got a version; raises UnknownVersionError."""
    found = reads.version_row(table, version=version)
    if found is None:
        row = known_row(reads, table)
        raise unknown_version(table, version, row.version, row.name)
    return found.position
