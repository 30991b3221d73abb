"""How a txn reads and writes rows: the statements of SQL as methods. They need the extra `arrow`.

Every statement sees the txn's snapshot with the txn's own changes. What it read is remembered by
its condition, so a later commit that changed such rows wins.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ledger.definitions.given import check_arrow
from ledger.definitions.names import TableLike
from ledger.definitions.time_zones import ZoneLike
from ledger.expressions.build import Expression, condition_in
from ledger.session.receipt import Token
from ledger.snapshot.as_of import AsOf
from ledger.snapshot.table_snapshot import in_write_folders
from ledger.transaction.txn_tables import TxnTables
from ledger.transaction.txn_verbs import inserted, statement_table
from ledger.work.merge_clauses import Assigned, MergeClause, clauses_of

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.reads.row_counts import ChangedRows
    from ledger.snapshot.scan import Scan
    from ledger.statements.restoring import RestoredFiles
    from ledger.statements.rewrites.optimizing import RewrittenFiles
    from ledger.statements.target import StatementTable


class TxnRows(TxnTables):
    """The part of a txn that deals with rows.

    `rows` are an Arrow table, batches or a reader, a frame of pandas or polars, a list of dicts, a
    dict of lists, or a DuckDB relation. What can be read once, such as a generator or a reader, is
    kept for the next attempt of `Ledger.run`, up to 256 MiB; a second statement that gets it is
    refused. Columns are found by name; a missing one has its default, is generated or numbered, or
    is NULL. Every method raises as `Transaction.read` and `add_files`, TypeError for anything but
    rows or for a value of another type, and ValueError for a value that its column cannot hold.
    """

    def scan(
        self,
        table: TableLike,
        where: str | Expression | None = None,
        columns: Sequence[str] | None = None,
        *,
        version: int | None = None,
        position: Token | int | None = None,
        at: "datetime | str | None" = None,
        limit: int | None = None,
        record: bool = True,
        time_zone: ZoneLike | None = None,
    ) -> "Scan":
        """Return the rows of a table that fulfil a condition, and remember that they were read.

        They are the rows of the txn's snapshot with the txn's own changes, or the rows of a named
        `version`, `position` or time `at`. The scan counts as a read of its condition, as with
        `read`: a later commit that changed such rows wins. With `record=False` the txn's writes do
        not depend on the rows. The rest is as for `Ledger.scan`.
        """
        check_arrow()
        from ledger.snapshot.scan import Scan  # noqa: PLC0415 - loads Arrow

        work = self._work
        work.check()
        number, as_of = work.names.find(table)[0], AsOf(version, position, at)
        snapshot = work.snapshot(number, as_of, time_zone)
        ids = None
        if in_write_folders(snapshot.row):
            if snapshot.is_former:
                raise ValueError(
                    f"a txn scans a table of layout directories in its own snapshot only, and "
                    f"table {snapshot.row.name} has this layout: use Ledger.scan for an earlier "
                    "state"
                )
            ids = work.valid_write_ids(number)
        return Scan.of(snapshot, condition_in(where), columns, ids, limit=limit, record=record)

    def insert(self, table: TableLike, rows: Any, *, evolve: bool = False) -> "ChangedRows":
        """Insert rows. A txn that only inserts reads nothing, and conflicts with no other insert.

        With `evolve` unknown columns are added to the table, and a column becomes wider where Delta
        allows it (INT to BIGINT, FLOAT to DOUBLE). A table of layout `directories` gets the rows in
        the folder of the txn's write id.
        """
        given = self._work.once.lasting(rows, "insert into", table)
        return inserted(self._work, table, given, evolve=evolve)

    def overwrite(
        self,
        table: TableLike,
        rows: Any,
        where: str | Expression | None = None,
        *,
        evolve: bool = False,
    ) -> "ChangedRows":
        """Put rows in the place of all rows, or of those that fulfil a condition.

        The new rows must fulfil the condition too, else ValueError. `evolve` is as for `insert`.
        """
        from ledger.statements import inserting  # noqa: PLC0415 - loads Arrow

        made = self.statement(table, "overwrite")
        given = self._work.once.lasting(rows, "overwrite of", table)
        return inserting.overwrite(made, given, condition_in(where), evolve=evolve)

    def delete(self, table: TableLike, where: str | Expression | None = None) -> "ChangedRows":
        """Delete the rows that fulfil a condition, or all rows.

        A row for which the condition is NULL stays. A condition on partition columns alone removes
        files as they are.
        """
        from ledger.statements import deleting  # noqa: PLC0415 - loads Arrow

        return deleting.delete(self.statement(table, "delete"), condition_in(where))

    def update(
        self, table: TableLike, changes: Mapping[str, Any], where: str | Expression | None = None
    ) -> "ChangedRows":
        """Give columns new values in the rows that fulfil a condition, or in all rows.

        A text in `changes` is an expression of Spark SQL over the row as it was, such as
        "price * 2" or "'done'"; any other value is a constant.
        """
        from ledger.statements import updating  # noqa: PLC0415 - loads Arrow

        return updating.update(self.statement(table, "update"), changes, condition_in(where))

    def merge(
        self,
        table: TableLike,
        source: Any,
        on: str | Expression,
        *,
        when_matched_update: Assigned = None,
        when_matched_delete: str | Expression | bool = False,
        when_not_matched_insert: Assigned = None,
        when_not_matched_by_source_delete: str | Expression | bool = False,
        clauses: Sequence[MergeClause] = (),
    ) -> "ChangedRows":
        """Change the rows of a table by the rows of a source.

        `on` and the expressions name columns as target.x and source.x. `when_matched_update` and
        `when_not_matched_insert` are dicts of columns and values as for `update`, or True for all
        columns of the same names. The deletes are True or a condition; a delete is tried before the
        update. `clauses` come first, in their order: see `MergeClause`.

        Raises ValueError if a row of the table matches several rows of the source, unless the only
        clause for matched rows deletes all of them.
        """
        from ledger.statements import merging  # noqa: PLC0415 - loads Arrow

        found = clauses_of(
            when_matched_update,
            when_matched_delete,
            when_not_matched_insert,
            when_not_matched_by_source_delete,
            clauses,
        )
        given = self._work.once.lasting(source, "merge into", table)
        return merging.merge(self.statement(table, "merge"), given, on, found)

    def optimize(
        self,
        table: TableLike,
        where: str | Expression | None = None,
        *,
        target_bytes: int = 256 << 20,
        sort_by: Sequence[str] = (),
    ) -> "RewrittenFiles":
        """Put the rows of small files, and of files with deleted rows, into larger files.

        Files with other names of columns than new ones have are written anew too.

        No row changes, so the txn loses only to a commit that removed the same files. `where` may
        name partition columns only. Files that the txn itself wrote stay.

        With `sort_by`, columns such as "day" or "id DESC", every file is written anew with its rows
        in this order, once. The property `lakeledger.sort` keeps an order for all files.
        """
        from ledger.statements.rewrites import optimizing  # noqa: PLC0415 - loads Arrow

        return optimizing.optimize(
            self.statement(table, "optimize"), condition_in(where), target_bytes, sort_by
        )

    def flush(self, table: TableLike) -> "RewrittenFiles":
        """Put the rows of a table that lie in the log into one file for each partition.

        No row changes, and the change feed stays as it is. In a table whose rows are the grain of
        changes (`lakeledger.rows` = `marks`) no other statement loses to a flush. Blocks that the
        txn itself wrote stay in the log.
        """
        from ledger.statements.rewrites import flushing  # noqa: PLC0415 - loads Arrow

        return flushing.flush(self.statement(table, "flush"))

    def restore(
        self,
        table: TableLike,
        *,
        version: int | None = None,
        position: Token | int | None = None,
        at: "datetime | str | None" = None,
    ) -> "RestoredFiles":
        """Give a table the columns and the rows that it had at a version, a position or a time.

        The table gets a new version, and the versions between stay readable. Its properties, level
        and constraints stay as they are. A file that later renames have left with other names of
        columns is written anew.

        Raises ValueError without a place and for a table that lay at another location,
        UnreadableTableError if a file of that version was deleted since, ConstraintViolatedError
        for a row that breaks a constraint of today, and as `scan`.
        """
        from ledger.statements import restoring  # noqa: PLC0415 - loads Arrow

        return restoring.restore(self.statement(table, "restore"), AsOf(version, position, at))

    def statement(
        self,
        table: TableLike,
        verb: str,
        *,
        time_zone: ZoneLike | None = None,
        is_read: bool = False,
    ) -> "StatementTable":
        """Return a table for one statement that another engine plans and runs.

        The engine asks it for files, and tells it the files that it wrote. `verb` is the statement,
        for errors. `is_read` accepts a table whose writers compute or check values. Raises
        SettingsError without the extra `arrow`.
        """
        return statement_table(self._work, table, verb, time_zone=time_zone, is_read=is_read)
