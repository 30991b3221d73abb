"""The tables of a domain: by id and by name, with the changes that wait for a commit."""

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ledger.core.commands import Protocol, TableDefinition
from ledger.core.limits import DROPS_REMEMBERED_MAX
from ledger.core.state.traits import DEFAULT_PROTOCOL, Traits, traits_of

# Control characters, line separators and surrogates: a name with one breaks the row that shows it.
ODD_CHARACTER: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Change(NamedTuple):
    """A committed change of a table's metadata: its position, txn, session and operation."""

    position: int
    txn: int
    session: int
    operation: str


class Progress(NamedTuple):
    """The version an application reached in a table, and the position of that commit."""

    version: int
    position: int


@dataclass(slots=True)
class Table:
    """One incarnation of a table; `version` -1 = its creation is not committed yet.

    `creator` is the open txn that created it and alone may see it, 0 once it is committed. `change`
    is the last change, `named` the change that gave the table its name, `committed_at` the time of
    its last version. `traits` are derived from the definition.
    """

    table: int
    catalog: str
    name: str
    definition: TableDefinition
    creator: int
    change: Change
    named: Change
    version: int = -1
    last_write_id: int = 0
    mapped_from: int = 1
    cleaned_ahead: set[int] = field(default_factory=set)
    protocol: Protocol = DEFAULT_PROTOCOL
    apps: dict[str, Progress] = field(default_factory=dict)
    committed_at: int = 0
    next_row_id: int = 0
    traits: Traits = field(init=False)

    def __post_init__(self) -> None:
        self.traits = traits_of(self.definition)

    def define(self, definition: TableDefinition) -> None:
        """Give the table another definition."""
        self.definition = definition
        self.traits = traits_of(definition)

    def clean(self, write_id: int) -> None:
        """Note that a mapping is gone; no mapping is left below `mapped_from`."""
        self.cleaned_ahead.add(write_id)
        while self.mapped_from in self.cleaned_ahead:
            self.cleaned_ahead.remove(self.mapped_from)
            self.mapped_from += 1


class Pending(NamedTuple):
    """A metadata change of an open txn: `create`, `alter`, `rename` (to `name`) or `drop`.

    Only an `alter` has a definition and Delta's name of its operation.
    """

    number: int
    kind: str
    table: int
    catalog: str
    name: str
    read_at: int
    definition: TableDefinition | None = None
    operation: str = ""


def redefines(changes: Iterable[Pending]) -> bool:
    """Tell whether the changes of a table include more than renames."""
    return any(change.kind != "rename" for change in changes)


def by_table(changes: Iterable[Pending]) -> dict[int, list[Pending]]:
    """Return the changes of a txn by table, in order within each table."""
    found: dict[int, list[Pending]] = {}
    for change in changes:
        found.setdefault(change.table, []).append(change)
    return found


def name_key(catalog: str, name: str) -> tuple[str, str]:
    """Return the key of a name; as in Hive, names that differ only in case are equal."""
    return catalog, name.lower()


@dataclass(slots=True)
class Tables:
    """Tables by id and by name; `pending` holds the changes of open txns in order.

    `dropped` are the latest drops, oldest first, for the evidence of txns that lose to a drop.
    """

    next_table: int = 1
    by_id: dict[int, Table] = field(default_factory=dict)
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    pending: dict[int, list[Pending]] = field(default_factory=dict)
    dropped: OrderedDict[int, Change] = field(default_factory=OrderedDict)

    def visible(self, table: int, txn: int) -> Table | None:
        """Return a table if it is committed or created by `txn`, else None."""
        found = self.by_id.get(table)
        if found is None or found.creator not in (0, txn):
            return None
        return found

    def named(self, catalog: str, name: str) -> Table | None:
        """Return the table that holds a name, or None."""
        table = self.names.get(name_key(catalog, name))
        return self.by_id[table] if table is not None else None

    def claim(self, table: Table, name: str, change: Change) -> None:
        """Give a table its (new) name by a change; `decide` made sure that the name is free."""
        key = name_key(table.catalog, name)
        if key in self.names:
            raise AssertionError(f"name {key} is held by table {self.names[key]}")
        self.names[key] = table.table
        table.name = name
        table.named = change

    def release(self, table: Table) -> None:
        """Free the name of a table."""
        key = name_key(table.catalog, table.name)
        if self.names.get(key) == table.table:
            del self.names[key]

    def drop(self, table: Table, change: Change) -> None:
        """Remove a table for ever, and remember the drop of a committed one for a while."""
        self.release(table)
        del self.by_id[table.table]
        if table.creator:
            return  # No other txn ever saw it.
        self.dropped[table.table] = change
        if len(self.dropped) > DROPS_REMEMBERED_MAX:
            self.dropped.popitem(last=False)


def odd_character(name: str) -> str | None:
    """Return the first character of a name that no new name may contain, or None."""
    found = ODD_CHARACTER.search(name)
    return None if found is None else found[0]
