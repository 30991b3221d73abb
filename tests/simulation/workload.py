"""The workload: what a client asks next, given what it knows from its answers."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any, Final

from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    AlterTable,
    ChangeNamespace,
    CloseSession,
    CoarseWrite,
    CommitTxn,
    CreateTable,
    DropTable,
    ForgetAborted,
    OpenTxn,
    Property,
    RenameTable,
    SessionCommand,
    StageWrites,
    TableDefinition,
    TableWrite,
)
from tests.simulation.lake import LEVELS, Lake, marked_table
from tests.simulation.planning import Planned, View
from tests.simulation.statements import plan

CATALOG: Final = "lake"
NAMES: Final = (*(f"t{number}" for number in range(7)), "s1.t", "s2.x.t")
MARKED_NAMES: Final = tuple(f"m{number}" for number in range(4))
MARKED_TABLES: Final = 2
OWN_MAX: Final = (2, 3, 40)
SPACES: Final = ("s1", "s2", "s2.x")
Asker = tuple[int, int, int]


@dataclass(slots=True)
class Shared:
    """What clients tell each other: tables that exist, txns that were aborted, sessions."""

    tables: list[int] = field(default_factory=list)
    aborted: list[int] = field(default_factory=list)
    txns: list[int] = field(default_factory=list)
    lake: Lake = field(default_factory=Lake)


@dataclass(slots=True)
class Workload:
    """One client's next commands; `own` are its open txns as far as it knows.

    `judged` are the ones whose commits are judged. `plans` are statements not yet committed, and
    `following` are commands that must come next.
    """

    chance: Random
    shared: Shared
    view: Callable[[int], View | None]
    own: list[int] = field(default_factory=list)
    judged: set[int] = field(default_factory=set)
    position: int = 0
    plans: list[Planned] = field(default_factory=list)
    following: deque[Callable[[Asker], SessionCommand]] = field(default_factory=deque)
    own_max: int = field(init=False)

    def __post_init__(self) -> None:
        """Draw how many txns it holds open: many keep all winners in the index, few let them go."""
        self.own_max = self.chance.choice(OWN_MAX)

    def next(self, asker: Asker) -> SessionCommand:
        """Return a command of a kind drawn by weight, or what makes sense instead of it."""
        if self.following:
            return self.following.popleft()(asker)
        make = self.chance.choices(MAKERS, cum_weights=CUMULATED)[0]
        return make(self, asker)

    def open_txn(self, asker: Asker) -> SessionCommand:
        """Open some txns, now and then with a deadline that will pass, or with write ids."""
        if len(self.own) >= self.own_max:
            return CommitTxn(*asker, self.own[0], ())
        kind: Any = self.chance.choices(
            ("default", "read_only", "compaction", "replicated", "soft_delete"), (12, 2, 1, 1, 1)
        )[0]
        deadline_ms = 4_000 if self.chance.random() < 0.1 else 0
        known = self.shared.tables[-8:] if self.chance.random() < 0.3 else []
        tables = sorted(set(self.chance.choices(known, k=2))) if known else []
        return OpenTxn(*asker, kind, self.chance.choice((1, 1, 1, 2, 3)), deadline_ms, tables)

    def allocate(self, asker: Asker) -> SessionCommand:
        """Take write ids for some txns in some tables."""
        if not self.own or not self.shared.tables:
            return self.create(asker)
        txns = sorted(set(self.chance.choices(self.own, k=self.chance.choice((1, 1, 2)))))
        tables = sorted(set(self.chance.choices(self.shared.tables[-8:], k=2)))
        return AllocateWriteIds(*asker, txns, tables)

    def commit(self, asker: Asker) -> SessionCommand:
        """Commit one of the open txns."""
        if not self.own:
            return self.open_txn(asker)
        txn = self.chance.choice(self.own)
        tables = self.shared.tables[-4:] if self.chance.random() < 0.6 else []
        return CommitTxn(*asker, txn, [self.write(table) for table in tables[:2]])

    def commit_at_once(self, asker: Asker) -> SessionCommand:
        if not self.shared.tables:
            return self.create(asker)
        table = self.chance.choice(self.shared.tables[-8:])
        return CommitTxn(*asker, 0, [self.write(table)])

    def change_rows(self, asker: Asker) -> SessionCommand:
        """Plan a statement over rows, and commit one that was planned before."""
        lake = self.shared.lake
        if len(lake.tables) < MARKED_TABLES:
            return self.create_marked(asker)
        table = self.chance.choice(lake.tables[-MARKED_TABLES:])
        view = self.view(table)
        if view is None:
            lake.tables.remove(table)
            return self.create_marked(asker)
        planned = plan(lake, self.chance, view)
        if planned is not None:
            self.plans.append(planned)
        if len(self.plans) < self.chance.choice((1, 2, 3, 4)):
            return self.allocate(asker)
        return self.commit_rows(asker)

    def commit_rows(self, asker: Asker) -> SessionCommand:
        """Commit a statement at once, with one of another table, or in chunks."""
        first = self.plans.pop(self.chance.randrange(len(self.plans)))
        planned = [first]
        judged = [txn for txn in self.own if txn in self.judged]
        if not judged or self.chance.random() < 0.7:
            return self._commit_plans(asker, 0, planned)
        others = [each for each in self.plans if each.table != first.table]
        if others and self.chance.random() < 0.5:
            self.plans.remove(others[0])
            planned.append(others[0])
        txn = self.chance.choice(judged)
        self.own.remove(txn)
        if self.chance.random() < 0.5:
            self.following.append(lambda later: self._commit_plans(later, txn, planned))
            return self.open_txn(asker)
        *chunks, _ = first.chunks
        self.following.append(lambda later: self._commit_plans(later, txn, [first], staged=True))
        return StageWrites(*asker, txn, first.table, 1, chunks[0])

    def _commit_plans(
        self, asker: Asker, txn: int, planned: list[Planned], *, staged: bool = False
    ) -> CommitTxn:
        self.shared.lake.asked[asker[:2]] = [each.name for each in planned]
        if txn:
            self.own.append(txn)
        level = "Serializable" if self.chance.random() < 0.1 else ""
        parts = [
            TableWrite(each.table, each.read_at, (), each.chunks[-1] if staged else each.whole)
            for each in planned
        ]
        return CommitTxn(*asker, txn, parts, level)

    def create_marked(self, asker: Asker) -> SessionCommand:
        """Create a table with marks, which must exist before its rows are planned."""
        name = self.chance.choice(MARKED_NAMES)
        definition = marked_table(self.chance.choice(LEVELS))
        return CreateTable(*asker, 0, 0, CATALOG, name, definition)

    def alter_marked(self, asker: Asker) -> SessionCommand:
        """Give a table with marks another level."""
        if not self.shared.lake.tables:
            return self.create_marked(asker)
        table = self.chance.choice(self.shared.lake.tables)
        definition = marked_table(self.chance.choice(LEVELS))
        return AlterTable(*asker, 0, self.position, table, definition, "SET TBLPROPERTIES")

    def write(self, table: int) -> TableWrite:
        operation: Any = self.chance.choices(("insert", "update", "delete"), (6, 2, 1))[0]
        partition = self.chance.choice(("", "p=1", "p=2"))
        scope: Any = "partition" if partition else "unpartitioned"
        read_at = self.position if self.chance.random() < 0.6 else 0
        return TableWrite(table, read_at, (CoarseWrite(scope, partition, operation),))

    def abort(self, asker: Asker) -> SessionCommand:
        """Abort an own txn, rarely that of another."""
        txns = self.own if self.chance.random() < 0.8 else self.shared.txns[-20:]
        if not txns:
            return self.open_txn(asker)
        wrote: list[int] | None = [] if self.chance.random() < 0.3 else None
        return AbortTxn(*asker, self.chance.choice(txns), "no longer wanted", wrote)

    def create(self, asker: Asker) -> SessionCommand:
        """Create a table, at once or in a txn."""
        layout: Any = self.chance.choice(("listed", "listed", "directories"))
        kind: Any = "external" if self.chance.random() < 0.1 else "managed"
        definition = TableDefinition(kind, layout, "file:///lake/t", (), (), ())
        name = self.chance.choice(NAMES)
        return CreateTable(*asker, self._own_or_none(), 0, CATALOG, name, definition)

    def rename(self, asker: Asker) -> SessionCommand:
        if not self.shared.tables:
            return self.create(asker)
        table = self.chance.choice([*self.shared.tables[-8:], *self.shared.lake.tables])
        return RenameTable(*asker, self._own_or_none(), 0, table, self.chance.choice(NAMES))

    def drop(self, asker: Asker) -> SessionCommand:
        if len(self.shared.tables) < 3:
            return self.create(asker)
        table = self.chance.choice([*self.shared.tables, *self.shared.lake.tables])
        return DropTable(*asker, self._own_or_none(), 0, table)

    def namespace(self, asker: Asker) -> SessionCommand:
        """Create, alter or drop a namespace; tables may lie in it."""
        act: Any = self.chance.choice(("create", "alter", "drop"))
        said = [Property("comment", self.chance.choice(NAMES))] if act != "drop" else ()
        return ChangeNamespace(*asker, 0, CATALOG, self.chance.choice(SPACES), act, said)

    def forget(self, asker: Asker) -> SessionCommand:
        """State that nothing is left of an aborted txn."""
        if not self.shared.aborted:
            return self.abort(asker)
        return ForgetAborted(*asker, [self.chance.choice(self.shared.aborted[-10:])], 0, ())

    def close(self, asker: Asker) -> SessionCommand:
        return CloseSession(*asker)

    def _own_or_none(self) -> int:
        return self.chance.choice(self.own) if self.own and self.chance.random() < 0.5 else 0


KINDS: Final[dict[Callable[[Workload, Asker], SessionCommand], int]] = {
    Workload.open_txn: 26,
    Workload.allocate: 20,
    Workload.commit: 20,
    Workload.commit_at_once: 10,
    Workload.abort: 7,
    Workload.create: 7,
    Workload.rename: 3,
    Workload.drop: 2,
    Workload.forget: 3,
    Workload.close: 1,
    Workload.namespace: 2,
    Workload.change_rows: 60,
    Workload.alter_marked: 1,
}
MAKERS: Final = tuple(KINDS)
CUMULATED: Final = tuple(accumulate(KINDS.values()))
