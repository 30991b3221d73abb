"""Names of tables as a client knows them; `txn_names` adds the view of each txn.

A name that the client itself gave needs no read until an event alters, renames or drops a table;
after that the read model is asked. Only a txn sees its own changes of names before its commit.
"""

from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from threading import Lock
from typing import Final, NamedTuple

from ledger.core.conflicts.metadata_diff import metadata_kind
from ledger.core.events.events import Control, TableCreated
from ledger.core.refusals import Reason
from ledger.core.state.tables import name_key
from ledger.definitions.client_reads import View
from ledger.definitions.given import check_list, check_name_of, check_text
from ledger.definitions.identity_ranges import IdentityRanges
from ledger.definitions.log_room import LogRoom
from ledger.definitions.new_tables import NewTables, warehouse_at
from ledger.errors import LedgerError, MetadataChangedException, SettingsError, UnknownTableError
from ledger.reads.port import Reads, TableRow
from ledger.session.tail import Tail

ALIKE_MAX: Final = 10_000
"""With more tables than this, no similar name is searched."""

TableLike = str | int | TableRow
"""A table by its name in the client's catalog, by its id, or by a TableRow."""

Found = tuple[int, TableRow | None]
"""The id of a table, and its row at the lookup, None if only the id is known."""


class TableStanding(NamedTuple):
    """A table and the position at which its row holds; 0 and None = only the id is known."""

    table: int
    row: TableRow | None
    position: int


class TableNames:
    """The names of one catalog as a client knows them; threads may share it.

    `new_tables` says what new tables get that name none of it. `identities` has the numbers that
    the client has taken for identity columns, `log_room` what it knows of the rows in the log.
    """

    def __init__(
        self,
        view: View,
        tail: Tail,
        catalog: str,
        new_tables: NewTables,
        identities: IdentityRanges,
    ) -> None:
        self.view, self.identities = view, identities
        self.log_room = LogRoom(view)
        self.catalog = catalog
        self.new_tables = new_tables._replace(warehouse=warehouse_at(new_tables.warehouse))
        self._tail = tail
        self._rows: dict[int, tuple[TableRow, int]] = {}
        # By name: the id, and the position at which this client gave the name.
        self._given: dict[tuple[str, str], tuple[int, int]] = {}
        self._forgotten_below = 0
        self._turn = Lock()

    def find(self, table: TableLike) -> Found:
        """Return a table; raises UnknownTableError for a name that no table has."""
        if isinstance(table, int):
            return table, self.known(table)[0]
        if isinstance(table, TableRow):
            return table.table, self._newest(table)
        check_name(table)
        row = self._own(table) or self.read(table)
        return row.table, row

    def look_up(self, table: TableLike) -> TableStanding:
        """Return a table, and the newest position at which its row is known to hold.

        Raises MetadataChangedException for a TableRow whose table changed since: files made for the
        row may not fit any more. The rest as `find`.
        """
        if isinstance(table, TableRow):
            return self._unchanged(table)
        if isinstance(table, int):
            return self._known(table) or TableStanding(table, None, 0)
        check_name(table)
        own = self._own(table)
        known = self._known(own.table) if own is not None else None
        return known or self._read(table)[1]

    def number(self, table: TableLike) -> int:
        """Return the id of a table; raises as `find`."""
        if isinstance(table, TableRow):
            return table.table
        return table if isinstance(table, int) else self.find(table)[0]

    def numbers(self, tables: Iterable[TableLike]) -> list[int]:
        """Return the ids of tables; raises as `find`, and TypeError for one in place of a list."""
        return [self.number(table) for table in listed(tables)]

    def read(self, name: str) -> TableRow:
        """Return the table that has a name now, from the read model; raises as `find`."""
        check_name(name)
        return self._read(name)[0]

    def remember(self, row: TableRow, position: int) -> None:
        """Note a table to which this client gave its name at `position`.

        If another thread has noted a later change, that change stays.
        """
        with self._turn:
            self._forget()
            if position < self._rows.get(row.table, (row, 0))[1]:
                return
            self._rows[row.table] = row, position
            self._given[name_key(row.catalog, row.name)] = row.table, position

    def known(self, table: int) -> tuple[TableRow | None, int]:
        """Return a table, and the position up to which its row holds; None if it may have changed.

        The row never comes from a caller, whose row may be old.
        """
        known = self._known(table)
        return (None, 0) if known is None else (known.row, known.position)

    def changed(self, row: TableRow, since: int, position: int) -> None:
        """Note a table after this client's change at `position`, planned from position `since`.

        It is not noted if another event may have changed it in between.
        """
        if self._tail.is_only_change(position, since):
            self.remember(row._replace(changed=position), position)

    def _read(self, name: str) -> tuple[TableRow, TableStanding]:
        position, reads = self.view.look()
        row = reads.table_named(self.catalog, name)
        if row is None:
            meant = alike(reads, self.catalog, name)
            raise unknown_table(f"catalog {self.catalog} has no table {name}{meant}")
        return row, table_standing(row, position)

    def _unchanged(self, row: TableRow) -> TableStanding:
        """Return the newest position at which the caller's row is known to hold; as `look_up`."""
        known = self._known(row.table)
        if known is None or known.position < row.changed:
            known = self._read_again(row)
        if known.row is not None and is_changed(row, known.row):
            raise changed_since(row, known.row)
        return known._replace(row=row)

    def _read_again(self, row: TableRow) -> TableStanding:
        position, reads = self.view.look(row.changed)
        now = reads.table(row.table)
        if now is None or now.creator or now.dropped:
            return TableStanding(row.table, None, 0)  # The sequencer's refusal will say why.
        # It is not kept: the tail sees a change in a txn when it is declared, not at the commit.
        return table_standing(now, position)

    def _forget(self) -> None:
        """Forget tables that an event may have changed since: they are read again in any case."""
        since = self._tail.redefined_at
        if since > self._forgotten_below:
            self._rows = {each: known for each, known in self._rows.items() if known[1] >= since}
            self._given = {each: given for each, given in self._given.items() if given[1] >= since}
            self._forgotten_below = since

    def _newest(self, row: TableRow) -> TableRow:
        """Return a table as it is now; the caller's row may be old."""
        known = self.known(row.table)[0]
        if known is not None and known.changed >= row.changed:
            return known
        if row.changed < self._tail.redefined_at:
            with suppress(SettingsError):
                return self.view.reads(row.changed).table(row.table) or row
        return row

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

    def _known(self, table: int) -> TableStanding | None:
        """Return the table of an id, None if an event may have changed it since."""
        # Read first: the tail goes on meanwhile.
        seen = self._tail.position
        row, position = self._rows.get(table, (None, 0))
        if row is None or position < self._tail.redefined_at:
            return None
        return TableStanding(table, row, max(position, seen))


def check_name(name: object) -> None:
    """Raise TypeError for anything but a table name."""
    if not isinstance(name, str):
        raise TypeError(f"a table must be a name, an id or a TableRow, got {name!r}")
    check_text("the name of a table", name)


def check_new_name(name: object) -> None:
    """Raise TypeError or ValueError for a name that no new table can have."""
    check_name(name)
    check_name_of("the name of a table", name)


def listed(tables: Iterable[TableLike]) -> Iterable[TableLike]:
    """Return tables as they are; raises TypeError for anything but a list."""
    check_list("tables", tables, TableRow)
    return tables


def created_row(control: Control, body: TableCreated) -> TableRow:
    """Return the row of a new table."""
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


def table_standing(row: TableRow, position: int) -> TableStanding:
    """Return a row with the position it holds at; it was read at `position` or later."""
    return TableStanding(row.table, row, max(position, row.changed))


def is_changed(then: TableRow, now: TableRow) -> bool:
    """Return whether a table has other columns, or other partition columns, than an older row.

    Files are made for these columns. Other changes do not matter to a caller with an old row.
    """
    return metadata_kind(then.definition, now.definition, frozenset()) == "shape"


def changed_since(then: TableRow, now: TableRow) -> MetadataChangedException:
    """Return the error for an outdated row of a table."""
    return MetadataChangedException(
        f"table {then.name} was changed at position {now.changed}, and the given row is from "
        f"position {then.changed}. Look the table up again and repeat the work",
        reason=Reason.METADATA_CHANGED,
        subject=then.table,
        position=now.changed,
    )


def alike(reads: Reads, catalog: str, name: str) -> str:
    """Return the end of a message: the table that an unknown name may mean, "" if absent."""
    with suppress(LedgerError):
        if reads.counts().tables > ALIKE_MAX:
            return ""
        rows = reads.tables()
        names = {row.name.lower(): row.name for row in rows if row.catalog == catalog}
        if found := get_close_matches(name.lower(), names, n=1):
            return f", did you mean {names[found[0]]}?"
        if any(row.name.lower() == name.lower() for row in rows):
            others = sorted({row.catalog for row in rows if row.name.lower() == name.lower()})
            return f", there is one in catalog {', '.join(others)}: connect with catalog=..."
    return ""


def unknown_table(what: str) -> UnknownTableError:
    """Return the error for a name that no table has."""
    end = "" if what.endswith("?") else "."
    return UnknownTableError(
        f"{what}{end} ledger.tables() lists the tables", reason=Reason.UNKNOWN_TABLE
    )
