"""How a client creates, replaces and lists views."""

from collections.abc import Mapping, Sequence

from ledger.definitions.given import check_arrow, check_text
from ledger.definitions.names import check_new_name
from ledger.definitions.views import ViewText, is_view, view_definition, view_properties
from ledger.errors import TableExistsError
from ledger.reads.port import TableRow
from ledger.transaction.client_tables import LedgerTables


class LedgerViews(LedgerTables):
    """The part of a client that deals with views: queries with names of their own."""

    def create_view(
        self,
        name: str,
        query: str,
        *,
        replace: bool = False,
        comment: str = "",
        properties: Mapping[str, str] | None = None,
    ) -> TableRow:
        """Create a view, or with `replace` give a view of the name another query.

        The query is as for `sql`. It is kept as it is written and runs whenever the view is read.
        Spark reads it too if the query means the same there. The view is renamed and dropped as a
        table is.

        Needs the extra `sql`. Raises QuerySyntaxError for anything but one query and for views that
        read each other, UnknownTableError, and TableExistsError if the name is taken.
        """
        check_arrow()
        from ledger.snapshot.sql import SqlPlace  # noqa: PLC0415 - loads DuckDB
        from ledger.tables.appending import RowsOfNewTable  # noqa: PLC0415 - loads Arrow

        check_new_name(name)
        check_text("a comment", comment)
        position, reads = self._view.look()
        known = reads.table_named(self.catalog, name) if replace else None
        if known is not None and not is_view(known.definition):
            raise TableExistsError(
                f"{known.name} is a table, which no view can replace: drop it first, or choose "
                "another name",
                reason="TableExists",
                subject=known.table,
            )
        shape = SqlPlace(reads, self.catalog, self._view.zone).shape(query, name)
        columns = RowsOfNewTable(shape).columns
        words = {"comment": comment} if comment else {}
        options = view_properties(ViewText(query, "duckdb"), {**(properties or {}), **words})
        if known is None:
            return self.create_table(name, columns, kind="view", properties=options)
        definition = view_definition(columns, options)
        receipt = self.alter_table(known, definition, operation="REPLACE VIEW", read_at=position)
        return known._replace(definition=definition, changed=receipt.position)

    def views(self) -> Sequence[TableRow]:
        """Return the views of the client's catalog."""
        return [
            row
            for row in self._view.reads().tables()
            if is_view(row.definition) and row.catalog == self.catalog
        ]
