"""An arena: a table that one session wins in while another, which read before, has yet to commit.

`bob` wins, each time with a plan as of now, so nothing stands against him; `ada` commits last, from
the position `base` at which she read. Statements are named as Delta names them, and take the value
of the one partition they are about.
"""

from typing import Any

from ledger.core.commands import (
    AlterTable,
    AppVersion,
    CoarseWrite,
    Domain,
    Footprint,
    Operation,
    Protocol,
    TableDefinition,
    TableWrite,
)
from ledger.core.events.events import Event, TableAltered, TxnCommitted
from tests.core.parts import equals, footprint, part, partition, table_of
from tests.driver import Driver

COLUMNS = (("day", "int"), ("delay", "int"))
BY_DAY = table_of(*COLUMNS, by=["day"])
UNPARTITIONED = table_of(*COLUMNS)
COMMENTED = table_of(*COLUMNS, by=["day"], comment="x")
WIDER = table_of(*COLUMNS, ("origin", "string"), by=["day"])
WITH_VECTORS = table_of(*COLUMNS, by=["day"], delta__enableDeletionVectors="true")
ENFORCING = table_of(*COLUMNS, by=["day"], lakeledger__enforceConcurrentFeatureEnablement="true")
MARKED = BY_DAY._replace(
    columns=[
        *BY_DAY.columns[:1],
        BY_DAY.columns[1]._replace(metadata='{"delta.identity.highWaterMark":7}'),
    ]
)
FEATURES = ("appendOnly", "invariants")
VECTORS = Protocol(3, 7, [*FEATURES, "deletionVectors"])
NEWEST = Protocol(3, 7, [*FEATURES, "identityColumns"])
BEYOND = Protocol(3, 7, [*FEATURES, "thinkingColumns"])
WITHOUT = Protocol(3, 7, ["appendOnly"])
CLUSTERING = Domain("delta.clustering", "{}", removed=False)
ROW_TRACKING = Domain("delta.rowTracking", "{}", removed=False)
LOADED = [AppVersion("loader", 7)]
ROWS = CoarseWrite("unpartitioned", "", "update")
TABLE = CoarseWrite("table", "", "update")
DAY_1 = equals("day", "1", "int")
APPEND: dict[str, Any] = {"adds": [partition("1")]}


def serializable(made: TableDefinition = BY_DAY) -> TableDefinition:
    """Return a table whose level is Serializable."""
    return made._replace(properties=table_of(delta__isolationLevel="Serializable").properties)


class Arena(Driver):
    """A domain with two tables of one kind, and a txn of each session that read at `base`."""

    def __init__(self, made: TableDefinition = BY_DAY) -> None:
        super().__init__()
        self.ada, self.bob = self.open_session("ada"), self.open_session("bob")
        self.table = self.create_table(self.ada, "flights", made=made)
        self.other = self.create_table(self.ada, "planes", made=made)
        self.mine = self.open_txn(self.ada)
        self.theirs = self.open_txn(self.bob)
        self.base = self.state.position

    def wins(self, *parts: TableWrite) -> Event:
        """Let bob commit parts that he plans now."""
        now = self.state.position
        return self.won(self.commit(self.bob, 0, *(each._replace(read_at=now) for each in parts)))

    def alters(self, made: TableDefinition, operation: str = "SET TBLPROPERTIES") -> Event:
        """Let bob alter the table by a commit of its own."""
        return self.won(self.alter_table(self.bob, self.table, made, operation))

    def won(self, event: Event) -> Event:
        assert isinstance(event.body, TxnCommitted | TableAltered), f"the winner lost: {event.body}"
        return event

    def follows(self, *parts: TableWrite, level: str = "") -> Any:
        """Let ada commit parts planned at the base, in a step of its own; return the answer."""
        planned = [each._replace(read_at=each.read_at or self.base) for each in parts]
        return self.commit(self.ada, 0, *planned, level=level).body

    def ends(self, *parts: TableWrite, level: str = "") -> Any:
        """Let ada commit parts in the txn she holds; return the body of the answer."""
        return self.commit(self.ada, self.mine, *parts, level=level).body

    def prepares(self, made: TableDefinition, operation: str = "SET TBLPROPERTIES") -> Event:
        """Let ada alter the table in the txn she holds."""
        return self.alter_table(self.ada, self.table, made, operation, txn=self.mine)

    def prepares_as_of_now(self, made: TableDefinition) -> Event:
        """Let ada alter the table in the txn she holds, having read it just now."""
        asks, now = self.asks(self.ada), self.state.position
        return self.ask(AlterTable(*asks, self.mine, now, self.table, made, "ADD COLUMNS"))

    def alters_with(self, made: TableDefinition, *parts: TableWrite) -> Event:
        """Let bob alter the table and commit parts, both in the txn that he holds."""
        self.alter_table(self.bob, self.table, made, "SET TBLPROPERTIES", txn=self.theirs)
        return self.won(self.commit(self.bob, self.theirs, *parts))

    def part(self, operation: str = "WRITE", **others: Any) -> TableWrite:
        """Return what a commit has to say of the table, as planned at its read."""
        return part(self.table, operation, **others)

    def does(self, name: str, value: str = "1", path: str = "a") -> TableWrite:
        """Return the part of a statement."""
        return TableWrite(self.table, 0, [], statement(name, value, path))

    def coarse(self, *writes: CoarseWrite) -> TableWrite:
        return TableWrite(self.table, 0, writes)


def day(value: str, operation: Operation = "update") -> CoarseWrite:
    return CoarseWrite("partition", f"day={value}", operation)


def statement(name: str, value: str = "1", path: str = "a") -> Footprint:
    """Return what a statement does that concerns one day and reads one file of it.

    Only INSERT is blind. OPTIMIZE rearranges the file; the others that rewrite change data.
    """
    scan = {"reads": [equals("day", value, "int")]}
    adds = {"adds": [partition(value)]}
    removes = {"remove": [path], "removes_in": [partition(value)]}
    said: dict[str, dict[str, Any]] = {
        "INSERT": adds,
        "INSERT SELECT": {**scan, **adds, "read": [path]},
        "UPDATE": {**scan, **adds, **removes, "read": [path]},
        "DELETE": {**scan, **removes, "read": [path]},
        "MERGE": {**scan, **adds, **removes, "read": [path]},
        "OPTIMIZE": {**adds, **removes, "read": [path], "data_change": False},
    }
    operation = "WRITE" if name.startswith("INSERT") else name
    return footprint(operation, **said[name])
