"""Names as one txn sees them: its own changes of names come before the client's.

A name may have belonged to another table when the txn opened. Rows hold the present names; the log
holds which tables were renamed since. So the answer is whether another table is possible, not which
one.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from ledger.core.refusals import Reason
from ledger.core.state.tables import name_key
from ledger.definitions.names import Found, TableLike, TableNames, listed, unknown_table
from ledger.errors import SettingsError, UnknownTableError
from ledger.reads.port import HistoryRow, Reads, TableRow

EVENTS_MAX: Final = 10_000
PAGE: Final = 1_000


class ChangedNames(NamedTuple):
    """The tables that may have been renamed since, and the tables that were dropped."""

    renamed: set[int]
    dropped: set[int]


class FormerNames:
    """Names as of the open of a txn, at a position that `reads` has reached.

    It looks through `events_max` events at most.
    """

    def __init__(
        self, reads: Reads, opened: int, txn: int, *, events_max: int = EVENTS_MAX
    ) -> None:
        self._reads = reads
        self._opened = opened
        self._txn = txn
        self._events_max = events_max

    def is_doubtful(self, table: int) -> bool:
        """Tell whether another table may have had the name that this table has now."""
        row = self._reads.table(table)
        if row is None or row.changed <= self._opened:
            return False
        moved, was_there = self._moved(), self._was_there(table)
        if moved is None:
            # For a table that existed then, only its last change counts: most are alters.
            return not was_there or row.operation == "rename"
        if was_there and table not in moved.renamed:
            return False
        others = (moved.renamed | moved.dropped) - {table}
        return any(self._may_have_had(row, other, moved) for other in others)

    def _may_have_had(self, row: TableRow, other: int, moved: ChangedNames) -> bool:
        """Tell whether another table may have had the name of a row."""
        found = self._reads.table(other)
        if found is None or found.catalog != row.catalog or not self._was_there(other):
            return False
        had_it_last = name_key(found.catalog, found.name) == name_key(row.catalog, row.name)
        return max(found.changed, found.dropped) > self._opened and (
            had_it_last or other in moved.renamed
        )

    def _was_there(self, table: int) -> bool:
        return self._reads.definition(table, self._opened) is not None

    def _moved(self) -> ChangedNames | None:
        """Return the tables that moved since, None if there are too many events."""
        if self._reads.position() - self._opened > self._events_max:
            return None
        moved = ChangedNames(set(), set())
        for event in self._events():
            if event.type == "TableRenamed":
                moved.renamed.update(event.tables)
            elif event.type == "TableDropped":
                moved.dropped.update(event.tables)
            elif event.type == "TxnCommitted" and 0 < event.txn < self._txn:
                moved.renamed.update(self._changed_by(event.txn))
        return moved

    def _changed_by(self, txn: int) -> Iterator[int]:
        """Yield the tables that a txn changed, possibly declared before the other txn opened."""
        row = self._reads.txn(txn)
        yield from (part.table for part in row.parts if part.metadata_events) if row else ()

    def _events(self) -> Iterator[HistoryRow]:
        after = self._opened
        while found := self._reads.history(after, PAGE):
            yield from found
            after = found[-1].position


class TxnNames:
    """The names as one txn sees them: its own changes, else the names as of its open.

    The first table that a name resolves to stays its table to the end of the txn.
    """

    def __init__(self, names: TableNames, txn: int, opened: int) -> None:
        self.client = names
        self._txn = txn
        self._opened = opened
        self._used: dict[tuple[str, str], int] = {}
        # The names that the txn gave, and the tables whose names it took away. By id: the former
        # name of a table is known only if it was looked up.
        self._given: dict[tuple[str, str], int] = {}
        self._moved: set[int] = set()
        self._rows: dict[int, TableRow] = {}

    def find(self, table: TableLike) -> Found:
        """Return the table that is meant; raises UnknownTableError."""
        if isinstance(table, str):
            number = self._named(table)
            return number, self.row(number)
        own = self._rows.get(self.number(table))
        return (own.table, own) if own is not None else self.client.find(table)

    def number(self, table: TableLike) -> int:
        """Return the id of the table that is meant; raises as `find`."""
        return self._named(table) if isinstance(table, str) else self.client.number(table)

    def numbers(self, tables: Iterable[TableLike]) -> list[int]:
        """Return the ids of tables; raises as `find`, and TypeError for one in place of a list."""
        return [self.number(table) for table in listed(tables)]

    def own(self, table: int) -> TableRow | None:
        """Return a table as the txn created or changed it, None if it did neither."""
        return self._rows.get(table)

    def row(self, table: int) -> TableRow | None:
        """Return a table as the txn sees it, None if there is no read model.

        If another program has changed it since the txn opened, the sequencer refuses a change.
        """
        row = self.own(table) or self.client.known(table)[0]
        if row is None:
            with suppress(SettingsError):
                return self.client.view.reads().table(table)
        return row

    def create(self, row: TableRow) -> None:
        """Note a table that the txn created."""
        self._rows[row.table] = row
        self._given[name_key(row.catalog, row.name)] = row.table

    def alter(self, row: TableRow) -> None:
        """Note a table as the txn altered it."""
        self._rows[row.table] = row

    def rename(self, table: int, row: TableRow | None, catalog: str, name: str) -> None:
        """Note the name that the txn gave a table; `row` is the table otherwise."""
        self._free(table)
        self._given[name_key(catalog, name)] = table
        if row is not None:
            self._rows[table] = row._replace(name=name)

    def drop(self, table: int) -> None:
        """Note that the txn dropped a table."""
        self._free(table)
        self._rows.pop(table, None)

    def given(self) -> list[TableRow]:
        """Return the tables that the txn created or changed, as it left them."""
        return list(self._rows.values())

    def _free(self, table: int) -> None:
        self._moved.add(table)
        self._given = {key: each for key, each in self._given.items() if each != table}

    def _named(self, name: str) -> int:
        key = name_key(self.client.catalog, name)
        number = self._given.get(key)
        if number is not None:
            return number
        number = self._used.get(key) or self._looked_up(name)
        if number in self._moved:
            raise unknown_table(f"txn {self._txn} has renamed or dropped the table named {name}")
        self._used[key] = number
        return number

    def _looked_up(self, name: str) -> int:
        """Return the table of a name; raises UnknownTableError if the name may have moved."""
        number, row = self.client.find(name)
        if row is None or row.changed <= self._opened:
            return number
        with suppress(SettingsError):
            former = FormerNames(self.client.view.reads(), self._opened, self._txn)
            if former.is_doubtful(number):
                raise UnknownTableError(
                    f"the name {name} now belongs to table {number}, and may have belonged to "
                    f"another table when txn {self._txn} opened, at position {self._opened}. Name "
                    "the table by its id, or begin another txn",
                    reason=Reason.UNKNOWN_TABLE,
                )
        return number
