"""A case of suite `hive` under way: what its names stand for, and what it has noted."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ledger.core.commands import (
    CoarseWrite,
    CreateTable,
    DropTable,
    ForgetAborted,
    OpenTxn,
    StageWrites,
    TableDefinition,
    TableWrite,
    TxnType,
)
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.core.events.events import (
    AbortedForgotten,
    CommandRefused,
    Event,
    TableCreated,
    TableDropped,
    TxnOpened,
    WritesStaged,
)
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.core.state.tables import Table
from ledger.core.state.txns import TxnStatus
from tests.conformance.case_ledger import CATALOG, NEVER_MS, CaseLedger

Step = Mapping[str, Any]
Body = TypeVar("Body")

DIRECTORIES = TableDefinition("managed", "directories", "file:///lake/table", (), (), ())
NEVER_OPENED = 2**40
SOME_ROWS = EMPTY_FOOTPRINT._replace(operation="WRITE", rows_added=1)


class UnexpectedAnswerError(Exception):
    """The ledger answered what no word of the cases says."""


class HiveCase:
    """The ledger of one case, and what the case calls its txns, tables and snapshots."""

    def __init__(self, ledger: CaseLedger, steps: Sequence[Step]) -> None:
        self.ledger = ledger
        self.txns: dict[str, int] = {}
        self.snapshots: dict[str, ValidTxnList] = {}
        self.compacted: list[str] = []
        self._unwritten: list[tuple[int, int]] = []
        self._recorded: dict[str, list[TableWrite]] = {}
        self._sessions: dict[str, int] = {}
        self._companions = companions(steps)
        self._only_read: set[int] = set()
        self._operator = ledger.open_session()

    def open_txn(self, name: str, kind: TxnType) -> None:
        """Open a txn without deadline, in a session of its own."""
        owner = self._companions.get(name, name)
        if owner not in self._sessions:
            self._sessions[owner] = self.ledger.open_session()
        session = self._sessions[name] = self._sessions[owner]
        deadline_ms = NEVER_MS - self.ledger.state.at
        opened = self.ledger.ask(session, OpenTxn, kind, 1, deadline_ms)
        body_of(opened, TxnOpened)
        self.txns[name] = opened.control.txn

    def let_time_out(self, name: str) -> None:
        """Let the session of a txn be silent for a lease, or end it alone where others share that.

        Then its own deadline passes instead; that of a replicated txn is out of reach.
        """
        number, txn = self._sessions[name], self.ledger.state.txns.open.get(self.txn(name))
        others = self.ledger.state.sessions.by_number[number].txns.keys() - {self.txn(name)}
        if not others:
            self.ledger.let_lapse(number)
        elif txn is not None and txn.type != "replicated":
            self.ledger.end_overdue(txn.txn)

    def session(self, name: str) -> int:
        """Return the session that asks about a txn: its own, or another if that is gone."""
        own = self._sessions.get(name, 0)
        session = self.ledger.state.sessions.by_number.get(own)
        return own if session is not None and session.is_open else self._operator

    def txn(self, name: str) -> int:
        """Return the id of a txn; one that the case never opened has an id never given."""
        return self.txns.get(name, NEVER_OPENED)

    def name(self, txn: int) -> str:
        """Return what the case calls an id."""
        names = {given: name for name, given in self.txns.items()}
        names[0] = "none"
        names[self.ledger.state.txns.next_txn] = "next"
        return names.get(txn, f"txn {txn}")

    def names(self, txns: Iterable[int]) -> list[str]:
        """Return what the case calls these ids."""
        return [self.name(txn) for txn in txns]

    def status(self, name: str) -> TxnStatus:
        """Return what the ledger knows of a txn."""
        return self.ledger.state.txns.status(self.txn(name))[0]

    def table(self, name: str) -> Table:
        """Return the table that holds a name now, created if there is none."""
        tables = self.ledger.state.tables
        if tables.named(CATALOG, name) is None:
            made = self.ask_operator(CreateTable, 0, 0, CATALOG, name, DIRECTORIES)
            body_of(made, TableCreated)
        table = tables.named(CATALOG, name)
        assert table is not None, f"table {name} was created"
        self._only_read.discard(table.table)
        return table

    def table_to_read(self, name: str) -> Table:
        """Return the table that holds a name now; one created for it is there only to be read."""
        held = self.ledger.state.tables.named(CATALOG, name)
        is_only_read = held is None or held.table in self._only_read
        table = self.table(name)
        if is_only_read:
            self._only_read.add(table.table)
        return table

    def free_name(self, name: str) -> None:
        """Drop what holds a name if it was created only to be read: the case has no such table."""
        held = self.ledger.state.tables.named(CATALOG, name)
        if held is not None and held.table in self._only_read:
            body_of(self.ask_operator(DropTable, 0, 0, held.table), TableDropped)

    def writes(self, step: Step) -> list[TableWrite]:
        """Return what a txn has written by the end of a step, by table."""
        found: dict[int, list[CoarseWrite]] = defaultdict(list)
        for table, _, earlier, _ in self._recorded.get(step["txn"], ()):
            found[table].extend(earlier)
        for write in step.get("writes", ()):
            found[self.table(write["table"]).table].append(coarse_write(**write))
        return [TableWrite(table, 0, writes) for table, writes in found.items()]

    def record(self, step: Step) -> None:
        """Tell what a txn has written before its session falls silent, as far as its end needs it.

        With nobody left to say otherwise, the ledger takes it that every write id was written
        under, so those are noted that were not. A replicated txn outlives the silence, and its own
        end says what it wrote.
        """
        name, writes = step["txn"], self.writes(step)
        txn = self.ledger.state.txns.open.get(self.txn(name))
        if txn is None:
            return
        if txn.type == "replicated":
            self._recorded[name] = writes
            return
        for write in writes:
            chunk = txn.txn, write.table, 1, SOME_ROWS
            staged = self.ledger.ask(self._sessions[name], StageWrites, *chunk)
            body_of(staged, WritesStaged)
        written = {write.table for write in writes}
        self._unwritten += [item for item in txn.write_ids.items() if item[0] not in written]

    def ask_operator(self, command: Any, *fields: Any) -> Event:
        """Send a command that belongs to no txn of the case."""
        return self.ledger.ask(self._operator, command, *fields)

    def clean(self) -> None:
        """Say which aborted data is gone or never was, then do the housekeeping that is due."""
        for name in self.compacted:
            forgotten = self.ask_operator(ForgetAborted, [self.txn(name)], 0, ())
            # Of an aborted txn this is refused only if nothing of it is left to forget.
            if self.status(name) not in ("aborted", "forgotten"):
                body_of(forgotten, AbortedForgotten)
        self.compacted.clear()
        for table, write_id in self._unwritten:
            if write_id in self.ledger.state.txns.writers.get(table, {}):
                forgotten = self.ask_operator(ForgetAborted, (), table, [write_id])
                body_of(forgotten, AbortedForgotten)
        self._unwritten.clear()
        self.ledger.keep_house()


def coarse_write(*, table: str, op: Any, partition: str | None = None) -> CoarseWrite:
    """Return one write of a step; without a partition it is one of the unpartitioned unit."""
    del table
    if op not in ("insert", "update", "delete"):
        raise ValueError(f"{op!r} is no write")
    if partition is None:
        return CoarseWrite("unpartitioned", "", op)
    return CoarseWrite("partition", partition, op)


def companions(steps: Iterable[Step]) -> dict[str, str]:
    """Return by name whose session a txn shares: that of those it takes write ids together with.

    A session gives write ids to its own txns only, so a batch in one call is one of one session.
    """
    first: dict[str, str] = {}
    for step in steps:
        batch = step.get("txns", step.get("txn"))
        if isinstance(batch, list):
            joined: set[str] = {str(first.get(name, name)) for name in batch}
            members = {*batch, *(name for name in first if first[name] in joined)}
            first.update(dict.fromkeys(members, min(joined)))
    return first


def body_of(event: Event, kind: type[Body]) -> Body:
    """Return the body of an answer that must be of one kind; raises UnexpectedAnswerError."""
    body: Any = event.body
    if isinstance(body, kind):
        return body
    if isinstance(body, CommandRefused):
        raise UnexpectedAnswerError(f"refused {body.reason}: {body.message}")
    raise UnexpectedAnswerError(f"{body}")
