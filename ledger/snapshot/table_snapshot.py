"""A table as one reader sees it at one position of the log.

A txn sees its own changes over that state. What it reads here is noted as read, so that a later
commit that changed it wins.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.limits import PREDICATE_CHARS_MAX
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.partitions.transforms import transforms_of
from ledger.core.predicates.tree import TRUE, TRUE_PREDICATE, Node
from ledger.core.state.traits import keeps_partitions
from ledger.definitions.client_reads import View
from ledger.expressions.condition_columns import check_columns
from ledger.properties.column_values import generation_of
from ledger.reads.port import FileRow, Reads, TableRow
from ledger.snapshot.as_of import NOW, AsOf, known_row
from ledger.snapshot.overlay import OwnChanges, own_files
from ledger.snapshot.reading import TableFiles, check_listed

if TYPE_CHECKING:
    from ledger.arrow.schema import TableSchema


class OwnTable(NamedTuple):
    """What an open txn has made of a table.

    `row` is the table as the txn has changed it, None if it did not. `is_new` says that the txn
    created it. `changes` returns the files that it removed and added, `written_for` the definition
    for which it wrote a file at a location, None for a file of another writer. `declare` checks
    that the txn is open, and notes a read unless it is not to be recorded.
    """

    row: TableRow | None
    is_new: bool
    changes: Callable[[], OwnChanges]
    written_for: Callable[[str, str], TableDefinition | None]
    declare: Callable[[TableFiles, bool], None]


class TableSnapshot:
    """A table at a position, for a reader in a time zone ("" = UTC), with the work of its txn.

    Attributes:
        reads: the reads, which have reached the position.
        row: the table as the reads have it, or as the txn has made it.
        position: the position.
        zone: the time zone of conditions.
        own: what the reader's txn has made of the table, None for a reader without one.
        is_former: whether the state is an earlier one, in which a txn does not see its own changes.
    """

    def __init__(
        self,
        reads: Reads,
        row: TableRow,
        position: int,
        zone: str = "",
        *,
        own: OwnTable | None = None,
        is_former: bool = False,
        definition: TableDefinition | None = None,
    ) -> None:
        self.reads, self.row, self.position, self.zone = reads, row, position, zone
        self.own, self.is_former = own, is_former
        self._definition = definition
        self._schemas: dict[int, TableSchema] = {}

    @classmethod
    def of(cls, view: View, table: int, as_of: AsOf = NOW, zone: str = "") -> "TableSnapshot":
        """Return a table at a place, by default at the newest position; raises as `AsOf`."""
        # The position comes before the row: a row that is newer has its earlier definition read.
        position, reads = view.look(as_of.place)
        row = known_row(reads, table)
        if not as_of.is_now:
            position = as_of.position_in(view, reads, row)
        return cls(reads, row, position, zone)

    @cached_property
    def definition(self) -> TableDefinition:
        """The definition that the reader sees."""
        if self._definition is not None:
            return self._definition
        if self.own is not None and self.own.row is not None and not self.is_former:
            return self.own.row.definition
        if self.row.changed <= self.position:
            return self.row.definition
        return self.reads.definition(self.row.table, self.position) or self.row.definition

    @cached_property
    def seen(self) -> TableRow:
        """The row of the table with the definition that the reader sees."""
        if self.own is not None and self.own.row is not None and not self.is_former:
            return self.own.row
        if self.definition is self.row.definition:
            return self.row
        return self.row._replace(definition=self.definition)

    @cached_property
    def schema(self) -> "TableSchema":
        """The columns that the reader sees."""
        return self._schema(self.definition)

    def schema_of(self, file: FileRow) -> "TableSchema":
        """Return the columns that the table had when a file was added; each state is read once.

        They are divided as the file is: a file without partition values may have rows of several
        partitions.
        """
        if not file.added or file.added > self.position:
            found = self._own_schema(file)
        elif self.definition is self.row.definition and file.added >= self.row.changed:
            found = self.schema
        else:
            found = self._schema_at(file.added)
        return found if file.partition or not found.partition_columns else found.undivided

    def _schema_at(self, position: int) -> "TableSchema":
        found = self._schemas.get(position)
        if found is None:
            then = self.reads.definition(self.row.table, position)
            found = self.schema if then is None else self._schema(then)
            self._schemas[position] = found
        return found

    def condition(self, where: Node | None) -> Node:
        """Return a condition as the reader's time zone means it; None is TRUE.

        Raises UnknownColumnError for a column that the table does not have.
        """
        if where is None:
            return TRUE
        own = None if self.own is None else self.own.row
        check_columns(where, self.reads, self.row, self.position, own)
        return where.in_zone(self.zone)

    def read(self, where: Node | None = None, *, whole: bool = False) -> TableFiles:
        """Return the committed files that a condition may concern; the caller notes the read.

        Raises UnknownColumnError, and FilesUnknownError for a table whose files the ledger does not
        list.
        """
        self._check_committed()
        condition = self._implied(self.condition(where)).to_wire()
        check_listed(self.row)
        own = None if self.own is None else self.own.row
        if own is not None and is_repartitioned(self.row, own):
            # The condition names columns as the txn has them: to others it means other partitions.
            condition = TRUE_PREDICATE
        # The reads take no longer condition.
        asked = condition if where is not None and len(condition) <= PREDICATE_CHARS_MAX else ""
        files = self.reads.files(self.row.table, where=asked, position=self.position)
        return TableFiles(self.row, self.position, condition, files, whole)

    def read_unlisted(self, where: Node | None) -> TableFiles:
        """Return a read of a table whose rows lie in folders: its files are not known.

        Without a condition everything is read.
        """
        self._check_committed()
        condition = self.condition(where).to_wire()
        return TableFiles(self.row, self.position, condition, (), whole=where is None)

    def files(self, where: Node | None = None, *, record: bool = True) -> TableFiles:
        """Return the files that a condition may concern, with those of the reader's txn.

        The read is noted in the txn. Raises as `read`.
        """
        own = self.own
        if own is None:
            return self.read(where)
        if own.is_new and not self.is_former:
            condition = (where or TRUE).in_zone(self.zone).to_wire()
            found = TableFiles(self.row, self.position, condition, ())
        else:
            found = self.read(where)
            own.declare(found, record)
        if self.is_former:
            return found
        return replace(found, files=own_files(found, own.changes(), own.row))

    def files_in_folders(
        self, where: Node | None, ids: ValidWriteIdList | None = None, *, record: bool = True
    ) -> TableFiles:
        """Return the files in the folders of valid write ids, which are listed now.

        `ids` are those of the reader's txn. Raises UnreadableTableError for other folders.
        """
        from ledger.files.folders import commit_positions, concerned, folder_files  # noqa: PLC0415
        from ledger.files.storage import storage_at  # noqa: PLC0415 - loads Arrow

        found = self.read_unlisted(where)
        if self.own is not None:
            self.own.declare(found, record)
        if ids is None:
            ids = self.reads.write_ids_at(self.row.table, self.position)
        files = folder_files(
            storage_at(self.definition.location),
            self.row,
            ids,
            commit_positions(self.reads, self.row),
            lambda file: self.schema_of(file).partition_columns,
        )
        return replace(found, files=list(concerned(files, found.where, self.row)))

    def changed_to(self, row: TableRow) -> "TableSnapshot":
        """Return the table as its txn has changed it since; raises ValueError without a txn."""
        if self.own is None:
            raise ValueError(f"table {row.name} is read without a txn that could change it")
        committed = row if self.own.is_new else self.row
        own = self.own._replace(row=row)
        return TableSnapshot(self.reads, committed, self.position, self.zone, own=own)

    def _implied(self, where: Node) -> Node:
        """Return a condition with what follows from it for generated columns and transforms."""
        is_plain = not any(map(generation_of, self.definition.columns))
        if where == TRUE or (is_plain and not transforms_of(self.definition)):
            return where
        from ledger.expressions.implied import with_implied  # noqa: PLC0415 - loads Arrow

        return with_implied(where, self.schema)

    def _check_committed(self) -> None:
        """Raise UnknownTableError for a table that no reader knows yet."""
        if self.own is not None and self.own.is_new:
            known_row(self.reads, self.row.table)

    def _schema(self, definition: TableDefinition) -> "TableSchema":
        from ledger.arrow.schema import TableSchema  # noqa: PLC0415 - loads Arrow

        return TableSchema.of(definition, self.row.name, self.row.table)

    def _own_schema(self, file: FileRow) -> "TableSchema":
        """Return the columns for which the txn wrote a file, else the present ones."""
        own = self.own
        then = None if own is None else own.written_for(self.definition.location, file.path)
        return self.schema if then is None or then == self.definition else self._schema(then)


def is_repartitioned(row: TableRow, own: TableRow) -> bool:
    """Return whether a txn has given a table other partition columns."""
    return not keeps_partitions(row.definition, own.definition)


def in_write_folders(row: TableRow) -> bool:
    """Return whether the rows of a table lie in folders of write ids."""
    return row.definition.kind == "managed" and row.definition.layout == "directories"
