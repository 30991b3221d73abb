"""How a client creates, alters, renames and drops tables outside a txn: at once."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Unpack

from ledger.core.commands import AlterTable, CreateTable, DropTable, RenameTable, TableDefinition
from ledger.core.events.events import TableAltered, TableCreated, TableDropped, TableRenamed
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.definitions.definitions import (
    Change,
    TableChanges,
    TableOptions,
    altered,
    changed_definition,
    operation_of,
    table_definition,
)
from ledger.definitions.names import TableLike, check_new_name, created_row
from ledger.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteReadException,
    MetadataChangedException,
)
from ledger.properties.column_values import identity_of
from ledger.properties.known_properties import adds_constraints
from ledger.reads.errors import check_list_is_of
from ledger.reads.html import ShownList
from ledger.reads.metadata import TABLE, Metadata, Read, TableMetadata, object_named
from ledger.reads.port import TableRow
from ledger.session.receipt import Receipt, Token
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED
from ledger.snapshot.as_of import known_row
from ledger.statements.altering import alter, checked_definition, published_as_written
from ledger.tracing import verb
from ledger.transaction.client_txns import LedgerTxns
from ledger.work.given_files import are_rows, check_rows_or, is_schema

ALTER_ATTEMPTS: Final = 10
OVERTAKEN: Final = (
    MetadataChangedException,
    ConcurrentAppendException,
    ConcurrentDeleteReadException,
)

Place = Token | str | int
"""A token, its text, or a position; 0 = any position."""


class LedgerTables(LedgerTxns):
    """The part of a client that deals with tables."""

    @verb
    def create_table(
        self, name: str, columns: Any = (), **options: Unpack[TableOptions]
    ) -> TableRow:
        """Create a table at once, from its columns, or from rows that are inserted as well.

        `columns` are pairs of name and declaration, a schema of Arrow, or rows as for
        `Transaction.insert`: then one commit makes the table and has the rows. A declaration is a
        Spark SQL type and what may follow it, such as `int NOT NULL DEFAULT 5`. `TableOptions` has
        the options, such as `partition_columns`, `layout` and `location`. Without a location the
        files lie in a folder of their own below the warehouse (`warehouse` of `connect`).

        Raises TableExistsError if the name is taken, ValueError for an unknown type, and
        SettingsError for rows or a schema of Arrow without a location and a warehouse.
        """
        check_new_name(name)
        if are_rows(columns) or is_schema(columns):
            return self._create_with_rows(name, columns, options)
        check_rows_or("columns, as pairs of name and Spark SQL type", columns)
        definition = table_definition(columns, **options)
        definition = self._names.new_tables.completed(definition, self.catalog, name)
        definition = checked_definition(name, None, definition, self._view)
        answer = self._ask(CreateTable(*UNNUMBERED, 0, 0, self.catalog, name, definition))
        row = created_row(answer.control, body_as(TableCreated, answer))
        self._names.remember(row, answer.control.position)
        return row

    @verb
    def alter_table(
        self,
        table: TableLike,
        change: Change | None = None,
        *,
        operation: str = "",
        read_at: Token | int = 0,
        **changes: Unpack[TableChanges],
    ) -> Receipt:
        """Give a table another definition at once; a managed table by a commit of its own.

        `change` is a function from the current definition to the new one. Or name the changes, see
        `TableChanges`. Both are repeated on the newest definition if another commit was faster. A
        `change` that is a whole definition replaces the current one, unless `read_at` names the
        position from which it was planned. `operation` is Delta's name of the change; by default it
        is derived.

        A new CHECK constraint, the property `delta.constraints.<name>`, is checked for all rows of
        the table, in a txn that has read them.

        Raises MetadataChangedException if the table was changed after `read_at`, or at every
        attempt; ValueError for a constraint that is no condition on the columns; and
        ConstraintViolatedError for one that a row breaks.
        """
        number = self._names.number(table)
        place = self._view.position_of(read_at)
        for _ in range(0 if place else ALTER_ATTEMPTS - 1):
            with suppress(*OVERTAKEN):
                return self._alter(number, change, operation, 0, changes)
        return self._alter(number, change, operation, place, changes)

    @verb
    def rename_table(self, table: TableLike, name: str, *, read_at: Token | int = 0) -> Receipt:
        """Give a table another name at once.

        Raises MetadataChangedException if the table was changed after `read_at`, and
        TableExistsError.
        """
        check_new_name(name)
        number = self._names.number(table)
        row, since = self._names.known(number)
        place = self._view.position_of(read_at)
        receipt = self._done(RenameTable(*UNNUMBERED, 0, place, number, name), TableRenamed)
        if row is not None:
            self._names.changed(row._replace(name=name), since, receipt.position)
        return receipt

    @verb
    def drop_table(self, table: TableLike, *, read_at: Token | int = 0) -> Receipt:
        """Drop a table at once; a new table of the same name is another table.

        Raises MetadataChangedException if the table was changed after `read_at`.
        """
        number = self._names.number(table)
        place = self._view.position_of(read_at)
        return self._done(DropTable(*UNNUMBERED, 0, place, number), TableDropped)

    def undrop_table(self, table: TableLike, name: str = "") -> TableRow:
        """Bring back a dropped table with its last columns and rows, as a new table.

        The rest is as for `Transaction.undrop_table`.
        """
        with self.begin() as txn:
            row = txn.undrop_table(table, name)
            receipt = txn.commit()
        version = receipt.versions.get(row.table, 0)
        return row._replace(creator=0, changed=receipt.position, version=version)

    def table(self, name: str) -> TableRow:
        """Return the table that has a name now; raises UnknownTableError."""
        return self._names.read(name)

    def metadata(
        self, table: TableLike, *, write_ids: ValidWriteIdList | None = None, token: Place = 0
    ) -> TableMetadata:
        """Return a table as it is now, or as a reader with a list of `write_ids` sees it.

        The answer is at least as new as this client's own writes and as `token`, which may be the
        token of another client's receipt or its text. Raises UnknownTableError if the reader sees
        no such table, ReaderBehindError, and ValueError for a list of another table.
        """
        found = self._metadata(table, TABLE, write_ids, token)
        assert isinstance(found, TableMetadata)
        return found

    def metadata_object(
        self,
        table: TableLike,
        what: str,
        *,
        write_ids: ValidWriteIdList | None = None,
        token: Place = 0,
    ) -> str:
        """Return an object of a table, such as "partition:day=1" or "stats:delay"; as `metadata`.

        Its value is the table property `object.<what>`.
        """
        return str(self._metadata(table, object_named(what), write_ids, token))

    def tables(self) -> Sequence[TableRow]:
        """Return all tables of the ledger's domain; a notebook shows them as a table."""
        heads = ("name", "id", "version", "columns", "partitioned by", "location")
        return ShownList("table", self._view.reads().tables(), heads, table_cells)

    def _create_with_rows(self, name: str, rows: Any, options: TableOptions) -> TableRow:
        """Create a table and insert its rows in one commit."""
        with self.begin() as txn:
            row = txn.create_table(name, rows, **options)
            receipt = txn.commit()
        version = receipt.versions.get(row.table, 0)
        return row._replace(creator=0, changed=receipt.position, version=version)

    def _alter(
        self, table: int, change: Change | None, operation: str, read_at: int, changes: TableChanges
    ) -> Receipt:
        """Alter a table as it is now; the change is planned from the position of that read."""
        reads = self._view.reads(read_at)
        position = reads.position()
        row = known_row(reads, table)
        definition = changed_definition(row.definition, change, **changes)
        definition = published_as_written(reads, row, definition)
        if adds_constraints(row.definition, definition):
            return self._alter_checked(table, change, operation, read_at, changes)
        definition = checked_definition(row.name, row, definition, self._view)
        # Another writer may take numbers of an identity column meanwhile, which must stay taken.
        is_whole = isinstance(change, TableDefinition) and not any(
            map(identity_of, definition.columns)
        )
        place = read_at or (0 if is_whole else position)
        name = operation or operation_of(row.definition, definition)
        command = AlterTable(*UNNUMBERED, 0, place, table, definition, name)
        receipt = self._done(command, TableAltered)
        made = altered(row, definition, receipt.position)
        self._names.changed(made, position, receipt.position)
        return receipt

    def _alter_checked(
        self, table: int, change: Change | None, operation: str, read_at: int, changes: TableChanges
    ) -> Receipt:
        """Alter a table in a txn that reads its rows: they must fulfil its new constraints."""
        with self.begin(level="serializable") as txn:
            work = txn._work  # noqa: SLF001 - of this package
            alter(work, table, change, operation, changes=changes, read_at=read_at)
            return txn.commit()

    def _metadata(
        self, table: TableLike, what: str, write_ids: ValidWriteIdList | None, token: Place
    ) -> Metadata:
        if isinstance(table, str) and isinstance(write_ids, ValidWriteIdList):
            check_list_is_of(self.catalog, table, write_ids)
        number = self._names.number(table)
        place = Token.parse(token) if isinstance(token, str) else token
        read = Read(number, write_ids, what=what)
        return self._view.metadata(read, place)


def table_cells(row: TableRow) -> Sequence[object]:
    """Return what a list of tables shows of one of them."""
    definition = row.definition
    columns, by = len(definition.columns), ", ".join(definition.partition_columns)
    return f"{row.catalog}.{row.name}", row.table, row.version, columns, by, row.location
