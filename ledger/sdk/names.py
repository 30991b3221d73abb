"""Names: which table a name means to a client; `txn_names` is about each of its txns.

A name that the client gave itself it knows without reading, until somebody alters, renames or drops
a table; then the read model is asked again. A txn sees its own changes of names before anyone else.
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
from ledger.errors import (
    LedgerError,
    MetadataChangedException,
    SettingsError,
    UnknownTableError,
)
from ledger.reads.port import Reads, TableRow
from ledger.sdk.lists import check_list
from ledger.sdk.tail import Tail
from ledger.sdk.texts import check_name_of, check_text
from ledger.sdk.view import View

ALIKE_MAX: Final = 10_000
"""Among more tables no name is looked for that may be meant."""

TableLike = str | int | TableRow
"""A table by its name in the client's catalog, by its id, or as a row of it."""

Found = tuple[int, TableRow | None]
"""The id of a table, and the table as it was when it was looked up; None if only its id is known.
"""


class Standing(NamedTuple):
    """How a table stands at a position; 0 = not known, and without a row its id is all there is."""

    table: int
    row: TableRow | None
    position: int


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
            return table, self.known(table)[0]
        if isinstance(table, TableRow):
            return table.table, self._newest(table)
        check_name(table)
        row = self._own(table) or self.read(table)
        return row.table, row

    def look_up(self, table: TableLike) -> Standing:
        """Return the table that is meant and the newest position where it is known to be as it is.

        A row of a table that was changed since, so that what was made for it may not fit any more,
        raises MetadataChangedException; the rest as `find`.
        """
        if isinstance(table, TableRow):
            return self._unchanged(table)
        if isinstance(table, int):
            return self._known(table) or Standing(table, None, 0)
        check_name(table)
        own = self._own(table)
        known = self._known(own.table) if own is not None else None
        return known or self._read(table)[1]

    def number(self, table: TableLike) -> int:
        """Return the id of the table that is meant; raises as `find`."""
        if isinstance(table, TableRow):
            return table.table
        return table if isinstance(table, int) else self.find(table)[0]

    def numbers(self, tables: Iterable[TableLike]) -> list[int]:
        """Return the ids of tables; raises as `find`, and TypeError for one in place of a list."""
        return [self.number(table) for table in listed(tables)]

    def read(self, name: str) -> TableRow:
        """Return the table of a name as it is now, from the read model; raises as `find`."""
        check_name(name)
        return self._read(name)[0]

    def remember(self, row: TableRow, position: int) -> None:
        """Note a table to which this client gave its name at `position`.

        Another thread may have noted a later change of it by now; then that stays.
        """
        with self._turn:
            self._forget()
            if position < self._rows.get(row.table, (row, 0))[1]:
                return
            self._rows[row.table] = row, position
            self._given[name_key(row.catalog, row.name)] = row.table, position

    def known(self, table: int) -> tuple[TableRow | None, int]:
        """Return a table, and the position up to which that is known; None if it may have changed.

        The row is never one that a caller handed in, which may be old.
        """
        known = self._known(table)
        return (None, 0) if known is None else (known.row, known.position)

    def changed(self, row: TableRow, since: int, position: int) -> None:
        """Note a table as this client's change at `position` left it: made of what it was `since`.

        It is not noted if somebody may have changed it in between.
        """
        if self._tail.is_only_change(position, since):
            self.remember(row._replace(changed=position), position)

    def _read(self, name: str) -> tuple[TableRow, Standing]:
        position, reads = self.view.look()
        row = reads.table_named(self.catalog, name)
        if row is None:
            meant = alike(reads, self.catalog, name)
            raise unknown_table(f"catalog {self.catalog} has no table {name}{meant}")
        return row, standing(row, position)

    def _unchanged(self, row: TableRow) -> Standing:
        """Return the newest position at which the caller's row is known to hold; as `look_up`."""
        known = self._known(row.table)
        if known is None or known.position < row.changed:
            known = self._read_again(row)
        if known.row is not None and is_changed(row, known.row):
            raise changed_since(row, known.row)
        return known._replace(row=row)

    def _read_again(self, row: TableRow) -> Standing:
        position, reads = self.view.look(row.changed)
        now = reads.table(row.table)
        if now is None or now.creator or now.dropped:
            return Standing(row.table, None, 0)  # The ledger itself will say what became of it.
        # It is not kept: the tail hears of a change in a txn before its commit, not of the commit.
        return standing(now, position)

    def _forget(self) -> None:
        """Let go of what somebody may have changed since: it is read again in any case."""
        since = self._tail.redefined_at
        if since > self._forgotten_below:
            self._rows = {each: known for each, known in self._rows.items() if known[1] >= since}
            self._given = {each: given for each, given in self._given.items() if given[1] >= since}
            self._forgotten_below = since

    def _newest(self, row: TableRow) -> TableRow:
        """Return a table as it is now, which may be long after the caller got its row."""
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

    def _known(self, table: int) -> Standing | None:
        """Return the table of an id, as long as nobody can have changed it since."""
        # Before it is asked what was changed: the tail goes on meanwhile.
        seen = self._tail.position
        row, position = self._rows.get(table, (None, 0))
        if row is None or position < self._tail.redefined_at:
            return None
        return Standing(table, row, max(position, seen))


def check_name(name: object) -> None:
    """Raise TypeError for what is no name of a table."""
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no table: one goes by its name, its id or a row of it")
    check_text("the name of a table", name)


def check_new_name(name: object) -> None:
    """Raise TypeError or ValueError for what can be the name of no new table."""
    check_name(name)
    check_name_of("the name of a table", name)


def listed(tables: Iterable[TableLike]) -> Iterable[TableLike]:
    """Return tables as they are; raises TypeError for one in their place, or for none."""
    check_list("tables", tables, TableRow)
    return tables


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


def standing(row: TableRow, position: int) -> Standing:
    """Return how a table stands by its row, which was read at a position or a later one."""
    return Standing(row.table, row, max(position, row.changed))


def is_changed(then: TableRow, now: TableRow) -> bool:
    """Tell whether a table has other columns, or is partitioned by others, than a row says.

    Files are made for those. Other changes do not matter to who holds a row for long.
    """
    return metadata_kind(then.definition, now.definition, frozenset()) == "shape"


def changed_since(then: TableRow, now: TableRow) -> MetadataChangedException:
    """Return the error for a row of a table that is not like that any more."""
    return MetadataChangedException(
        f"table {then.name} was changed at position {now.changed}, the row of it that was given is "
        f"from position {then.changed}. Look it up again and repeat the work",
        reason=Reason.METADATA_CHANGED,
        subject=then.table,
        position=now.changed,
    )


def alike(reads: Reads, catalog: str, name: str) -> str:
    """Return which table may be meant by a name that none has, as a message ends; "" for none."""
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
        f"{what}{end} See ledger.tables() for those there are", reason=Reason.UNKNOWN_TABLE
    )
