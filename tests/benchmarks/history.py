"""A history of a domain of any length, made event by event without asking the rules.

The events are those that the rules would have decided, in the order of R1: sixteen txns are open at
a time, each opens, gets a write id and commits the rewrite of one file. A million of them are made
in seconds. Every bound is so low that 10,000 events reach it: what a state holds at the end of a
history depends on the bounds, not on how long the history was.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Final

from ledger.core.acceptance import NO_CHAIN
from ledger.core.commands import Column, Footprint, Property, TableDefinition
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, path_hash
from ledger.core.events.events import (
    Body,
    CatalogCreated,
    Control,
    Event,
    LedgerCreated,
    SessionOpened,
    TableAltered,
    TableCreated,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.events.parts import AbortedPart, AllocatedId, CommittedPart, TxnEnd
from ledger.core.limits import DEFAULT_LIMITS
from ledger.core.partitions.names import partition_text
from tests.core.parts import equals

LIMITS: Final = DEFAULT_LIMITS._replace(
    open_txns_max=1_000_000,
    outcomes_max=1_000,
    conflict_entries_min=10_000,
    conflict_entries_max=20_000,
)
EPOCH: Final = 1
SESSIONS: Final = 8
TABLES: Final = 20
OPEN_AT_ONCE: Final = 16
ABORTED_EACH: Final = 9
REGIONS: Final = [f"r{number}" for number in range(12)]
COLUMNS: Final = (
    Column("id", "bigint", nullable=False, id=1),
    Column("region", "string", nullable=False, id=2),
)
DEFINITION: Final = TableDefinition("managed", "listed", "file:///lake/t", COLUMNS, ("region",), ())
# An hour, and a txn opened in it is overdue after another.
HOUR_MS: Final = 3_600_000


class History:
    """Makes the events of one domain, from its creation on; each call goes on from the last one.

    `position` and `last_cmd` are those of the last event made; `next_txn` is the next id.
    """

    def __init__(self) -> None:
        self.position = 0
        self.last_cmd = -1
        self.next_txn = 1
        self._asked: Counter[int] = Counter()
        self._sessions: list[int] = []
        self._commits: Counter[int] = Counter()
        self._given: Counter[int] = Counter()
        self._open: deque[tuple[int, int, int]] = deque()

    @property
    def session(self) -> int:
        """The number of one of the sessions."""
        return self._sessions[0]

    def next_n(self, session: int) -> int:
        """Return the number that the next command of a session has."""
        return self._asked[session] + 1

    def creation(self) -> Iterator[Event]:
        """Yield the genesis, the sessions and the tables."""
        yield self._internal(LedgerCreated("0" * 16, "growth", 0, "commands", "events", LIMITS))
        yield self._internal(CatalogCreated("main"))
        for number in range(SESSIONS):
            self.last_cmd += 1
            opened = self._internal(SessionOpened(bytes([number]) * 16, "ada", "h", "bench", 0))
            self._sessions.append(opened.control.position)
            yield opened
        for table in range(1, TABLES + 1):
            created = TableCreated(table, 0, 0, 0, "main", f"db.t{table}", DEFINITION)
            yield self._answer(self.session, created)

    def txns(self, count: int) -> Iterator[Event]:
        """Yield the events of so many txns, of which the last sixteen stay open."""
        for _ in range(count):
            txn, table = self.next_txn, self.next_txn % TABLES + 1
            still_open = [each for each, _, _ in self._open]
            yield self.opens(1, still_open)
            self._given[table] += 1
            session = self._sessions[txn % SESSIONS]
            allocated = WriteIdsAllocated([AllocatedId(table, txn, self._given[table])])
            yield self._answer(session, allocated, txn)
            self._open.append((txn, table, self._given[table]))
            if len(self._open) > OPEN_AT_ONCE:
                yield self._commits_rewrite(*self._open.popleft())

    def alters(self, count: int) -> Iterator[Event]:
        """Yield the events of so many txns, each of which alters a table; a few are aborted."""
        still_open: deque[tuple[int, int, int]] = deque()
        for _ in range(count):
            txn, table = self.next_txn, self.next_txn % TABLES + 1
            yield self.opens(1, [each for each, _, _ in still_open])
            self._given[table] += 1
            definition = DEFINITION._replace(properties=(Property("altered", str(txn)),))
            place = self._given[table], self.position, False, -1, 0
            altered = TableAltered(table, 1, *place, definition, "SET TBLPROPERTIES")
            yield self._answer(self._sessions[txn % SESSIONS], altered, txn)
            still_open.append((txn, table, self._given[table]))
            if len(still_open) > OPEN_AT_ONCE:
                yield self._ends_alter(*still_open.popleft())
        for opened in still_open:
            yield self._ends_alter(*opened)

    def opens(self, size: int, still_open: Sequence[int] = ()) -> Event:
        """Return the opening of txns that change nothing unless they are told to."""
        txn = self.next_txn
        self.next_txn += size
        least = still_open[0] if still_open else txn
        deadline = self.position + HOUR_MS
        body = TxnOpened("default", size, least, deadline, True, still_open, (), 0)  # noqa: FBT003
        return self._answer(self._sessions[txn % SESSIONS], body, txn)

    def commits_nothing(self, txn: int) -> Event:
        """Return the commit of an open txn that wrote nothing."""
        committed = TxnCommitted("default", False, ())  # noqa: FBT003
        return self._answer(self.session, committed, txn)

    def expires(self, txns: Sequence[int]) -> Event:
        """Return the end of open txns that were overdue and left data in the first table."""
        parts = (AbortedPart(1, 0, 0, wrote=True),)
        return self._internal(TxnsExpired((), [TxnEnd(txn, "deadline", parts) for txn in txns]))

    def _ends_alter(self, txn: int, table: int, write_id: int) -> Event:
        session = self._sessions[txn % SESSIONS]
        if txn % ABORTED_EACH == 0:
            parts = [AbortedPart(table, write_id, 1, wrote=False)]
            return self._answer(session, TxnAborted("not wanted", False, parts, None), txn)  # noqa: FBT003
        self._commits[table] += 1
        part = CommittedPart(table, self.position, write_id, self._commits[table], 1, ())
        return self._answer(session, TxnCommitted("default", False, [part]), txn)  # noqa: FBT003

    def _commits_rewrite(self, txn: int, table: int, write_id: int) -> Event:
        self._commits[table] += 1
        read_at = self.position - 1
        footprint = rewrite(txn, REGIONS[txn % len(REGIONS)])
        part = CommittedPart(
            table,
            read_at,
            write_id,
            self._commits[table],
            0,
            (),
            "Serializable",
            committed_at=self.position,
            footprint=footprint,
        )
        session = self._sessions[txn % SESSIONS]
        return self._answer(session, TxnCommitted("default", False, [part]), txn)  # noqa: FBT003

    def _internal(self, body: Body) -> Event:
        self.position += 1
        at = self.position
        return Event(Control(NO_CHAIN, EPOCH, at, self.last_cmd, 0, 0, at, 0), body)

    def _answer(self, session: int, body: Body, txn: int = 0) -> Event:
        self.position += 1
        self.last_cmd += 1
        self._asked[session] += 1
        at, n = self.position, self._asked[session]
        return Event(Control(NO_CHAIN, EPOCH, at, self.last_cmd, session, n, at, txn), body)


def rewrite(number: int, region: str) -> Footprint:
    """Return what an update of one region does: reads it, removes one file, adds another."""
    here = [partition_text((region,))]
    return EMPTY_FOOTPRINT._replace(
        operation="UPDATE",
        reads=[equals("region", region)],
        adds=here,
        removes=path_hash(f"part-{number}.parquet"),
        removes_in=here,
        data_change=True,
        rows_added=1,
    )
