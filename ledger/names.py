"""Names: which table a name means, to a client and to each of its txns.

A name that the client gave itself it knows without reading, until somebody alters, renames or drops
a table; then the read model is asked again. A txn sees its own changes of names before anyone else.
"""

from threading import Lock

from ledger.core.events import Control, TableCreated
from ledger.core.outcomes import Reason
from ledger.core.tables import name_key
from ledger.errors import UnknownTableError
from ledger.reads import TableRow
from ledger.tail import Tail
from ledger.view import View

TableLike = str | int | TableRow
"""A table by its name in the client's catalog, by its id, or as a row of it."""

Found = tuple[int, TableRow | None]
"""The id of a table, and the table as it was when it was looked up; None if only its id is known.
"""


class Names:
    """The names of one catalog as a client knows them; threads may share it."""

    def __init__(self, view: View, tail: Tail, catalog: str) -> None:
        self.view = view
        self.catalog = catalog
        self._tail = tail
        self._rows: dict[int, tuple[TableRow, int]] = {}
        # By name, the id and the position at which this client gave it that name.
        self._given: dict[tuple[str, str], tuple[int, int]] = {}
        self._forgotten_below = 0
        self._turn = Lock()

    def find(self, table: TableLike) -> Found:
        """Return the table that is meant; raises UnknownTableError for a name nobody has."""
        if isinstance(table, int):
            return table, self._known(table)
        row = table if isinstance(table, TableRow) else self._own(table) or self.read(table)
        return row.table, row

    def read(self, name: str) -> TableRow:
        """Return the table of a name as it is now, from the read model; raises as `find`."""
        row = self.view.reads().table_named(self.catalog, name)
        if row is None:
            raise unknown_table(f"catalog {self.catalog} has no table {name}")
        return row

    def remember(self, row: TableRow, position: int) -> None:
        """Note a table to which this client gave its name at `position`."""
        with self._turn:
            self._forget()
            self._rows[row.table] = row, position
            self._given[name_key(row.catalog, row.name)] = row.table, position

    def _forget(self) -> None:
        """Let go of what somebody may have changed since: it is read again in any case."""
        since = self._tail.redefined_at
        if since > self._forgotten_below:
            self._rows = {each: known for each, known in self._rows.items() if known[1] >= since}
            self._given = {each: given for each, given in self._given.items() if given[1] >= since}
            self._forgotten_below = since

    def _own(self, name: str) -> TableRow | None:
        key = name_key(self.catalog, name)
        with self._turn:
            table, position = self._given.get(key, (0, 0))
            if not table:
                return None
            if position < self._tail.redefined_at:
                del self._given[key]
                return None
            return self._rows[table][0]

    def _known(self, table: int) -> TableRow | None:
        """Return the table of an id, as long as nobody can have changed it since."""
        row, position = self._rows.get(table, (None, 0))
        return None if position < self._tail.redefined_at else row


class TxnNames:
    """The names as one txn sees them: those it changed itself, else its client's."""

    def __init__(self, names: Names, txn: int) -> None:
        self.client = names
        self._txn = txn
        # To the table that has the name now, or None where this txn has freed it.
        self._changed: dict[tuple[str, str], TableRow | None] = {}

    def find(self, table: TableLike) -> Found:
        """Return the table that is meant; raises UnknownTableError."""
        if isinstance(table, int):
            own = self.own(table)
            return (table, own) if own is not None else self.client.find(table)
        if isinstance(table, TableRow):
            return table.table, table
        key = name_key(self.client.catalog, table)
        if key not in self._changed:
            return self.client.find(table)
        row = self._changed[key]
        if row is None:
            raise unknown_table(f"txn {self._txn} has freed the name {table}")
        return row.table, row

    def own(self, table: int) -> TableRow | None:
        """Return a table as the txn made it or changed it, None if it did neither."""
        return next((row for row in self.given() if row.table == table), None)

    def give(self, row: TableRow) -> None:
        """Note that the txn gave a table its name or definition."""
        self._changed[name_key(row.catalog, row.name)] = row

    def free(self, row: TableRow | None) -> None:
        """Note that the txn took the name from a table; None = which name is not known."""
        if row is not None:
            self._changed[name_key(row.catalog, row.name)] = None

    def given(self) -> list[TableRow]:
        """Return the tables that the txn made or changed, as it left them."""
        return [row for row in self._changed.values() if row is not None]


def created_row(control: Control, body: TableCreated) -> TableRow:
    """Return the row of a table just created."""
    return TableRow(
        table=body.table,
        catalog=body.catalog,
        name=body.name,
        definition=body.definition,
        version=-1 if control.txn else 0,
        last_write_id=body.write_id,
        mapped_from=1,
        created=control.position,
        changed=control.position,
        operation="create",
        partitioned=0,
        dropped=0,
        creator=control.txn,
    )


def unknown_table(what: str) -> UnknownTableError:
    """Return the error for a name that no table has."""
    return UnknownTableError(
        f"{what}. See ledger.tables() for those there are", reason=Reason.UNKNOWN_TABLE
    )
