"""How a txn creates, alters, renames and drops tables.

The txn sees its changes at once. Other readers see them after its commit.
"""

from typing import TYPE_CHECKING, Any, Unpack

from ledger.core.commands import DropTable, RenameTable
from ledger.core.events.events import TableDropped, TableRenamed
from ledger.definitions.definitions import Change, TableChanges, TableOptions, table_definition
from ledger.definitions.given import check_arrow
from ledger.definitions.names import TableLike, check_new_name
from ledger.reads.metadata import TABLE, Metadata, Read, TableMetadata, object_named
from ledger.reads.port import TableRow
from ledger.session.receipt import Receipt
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED
from ledger.snapshot.as_of import known_row
from ledger.statements.altering import alter, checked_definition, create
from ledger.transaction.txn_verbs import TxnVerbs, inserted
from ledger.work.given_files import are_rows, check_rows_or, is_schema

if TYPE_CHECKING:
    from ledger.tables.appending import RowsOfNewTable


class TxnTables(TxnVerbs):
    """The part of a txn that deals with tables."""

    def metadata(self, table: TableLike) -> TableMetadata:
        """Return the metadata of a table as of the txn's open, with the txn's own changes.

        An external table has no snapshot: its newest metadata is returned. Raises
        UnknownTableError if the txn sees no such table.
        """
        found = self._metadata(table, TABLE)
        assert isinstance(found, TableMetadata)
        return found

    def metadata_object(self, table: TableLike, what: str) -> str:
        """Return an object of a table, such as "partition:day=1" or "stats:delay"; as `metadata`.

        Its value is the table property `object.<what>`.
        """
        return str(self._metadata(table, object_named(what)))

    def create_table(
        self, name: str, columns: Any = (), **options: Unpack[TableOptions]
    ) -> TableRow:
        """Create a table; other readers see it after this txn's commit.

        `columns` and the options are as for `Ledger.create_table`.
        """
        check_new_name(name)
        check_rows_or("columns, as pairs of name and Spark SQL type", columns)
        catalog, new_tables = self._work.names.client.catalog, self._work.names.client.new_tables
        reader, named = None, self._work.once.lasting(columns, "create table", name)
        if "partition_columns" in options:
            names = self._work.once.lasting(options["partition_columns"], "create table", name)
            options["partition_columns"] = names
        if are_rows(columns) or is_schema(columns):
            made = rows_of_new_table(named)
            reader, named = made.reader, made.columns
            if "location" not in options:
                options["location"] = new_tables.location(catalog, name)
        definition = new_tables.completed(table_definition(named, **options), catalog, name)
        definition = checked_definition(name, None, definition, self._work.view)
        row = create(self._work, name, definition)
        if reader is not None:
            inserted(self._work, row, reader)
        return row

    def alter_table(
        self,
        table: TableLike,
        change: Change | None = None,
        *,
        operation: str = "",
        **changes: Unpack[TableChanges],
    ) -> Receipt:
        """Give a table another definition; others see it once this txn has committed.

        `change` is the definition, or a function from the current definition to the new one. Or
        name the changes, see `TableChanges`. `operation` is Delta's name of the change; by default
        it is derived. Raises MetadataChangedException if the table was changed after this txn
        opened.

        A new CHECK constraint, the property `delta.constraints.<name>`, is checked for all rows
        that the txn sees, and the txn has then read the whole table. Raises ValueError for a
        constraint that is no condition on the columns, and ConstraintViolatedError.
        """
        return alter(self._work, table, change, operation, changes=changes)

    def undrop_table(self, table: TableLike, name: str = "") -> TableRow:
        """Bring back a dropped table with its last columns and rows, as a new table.

        `table` is its id, its row, or the name that it had: the last table that was dropped with
        it. `name` is the new one, by default the former one. The history of versions begins anew,
        and the dropped table keeps its own. A published table is not published any more, since the
        log in its folder belongs to the dropped one.

        Raises UnknownTableError if no such table was dropped, TableExistsError if the name is
        taken, UnreadableTableError if a vacuum has deleted files, and FilesUnknownError for a table
        whose files the ledger does not list.
        """
        check_arrow()
        from ledger.statements import undropping  # noqa: PLC0415 - loads Arrow

        former = undropping.dropped_table(self._work, table)
        return undropping.undrop(self._work, former, name or former.name)

    def rename_table(self, table: TableLike, name: str) -> Receipt:
        """Rename a table; other readers see it after this txn's commit."""
        check_new_name(name)
        number = self._work.names.number(table)
        row = self._work.names.row(number)
        answer = self._work.ask(RenameTable(*UNNUMBERED, self._work.id, 0, number, name))
        body = body_as(TableRenamed, answer)
        self._work.note_write_id(number, body.write_id)
        self._work.names.rename(number, row, body.catalog, body.name)
        return self._work.receipt(answer)

    def drop_table(self, table: TableLike) -> Receipt:
        """Drop a table; other readers see it after this txn's commit."""
        number = self._work.names.number(table)
        answer = self._work.ask(DropTable(*UNNUMBERED, self._work.id, 0, number))
        body = body_as(TableDropped, answer)
        self._work.note_write_id(number, body.write_id)
        self._work.names.drop(number)
        return self._work.receipt(answer)

    def _metadata(self, table: TableLike, what: str) -> Metadata:
        work = self._work
        work.ending.check()
        number, found = work.names.find(table)
        row = found or known_row(work.view.reads(work.last), number)
        is_managed = row.definition.kind == "managed"
        write_ids = work.valid_write_ids(number) if is_managed else None
        return work.view.metadata(Read(number, write_ids, None, what, work.id), work.last)


def rows_of_new_table(given: Any) -> "RowsOfNewTable":
    """Return the columns and the rows of a new table; raises SettingsError without Arrow."""
    check_arrow()
    from ledger.tables.appending import RowsOfNewTable  # noqa: PLC0415 - loads Arrow

    return RowsOfNewTable(given)
