"""A ledger in one thread, for tests: the real rules around an in-memory log, without a sequencer.

`Driver` decides each command at once and appends what the leader would append, so a test has the
log, the state after it and every event. What becomes of two leaders, of lost records and of time
belongs to the tests of the sequencer.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from ledger.core.acceptance import LogHead
from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    AlterTable,
    CloseSession,
    CoarseWrite,
    Command,
    CommitTxn,
    CreateTable,
    DropTable,
    ForgetAborted,
    Layout,
    OpenSession,
    OpenTxn,
    RenameTable,
    TableDefinition,
    TableKind,
    TableWrite,
    TxnType,
)
from ledger.core.decide.cut import take_up
from ledger.core.decide.decide import decide
from ledger.core.decide.housekeep import Lapsed, housekeep
from ledger.core.decide.stamp import answer_control, filling_control, internal_control
from ledger.core.events.events import (
    Body,
    CatalogCreated,
    CommandRefused,
    Control,
    Event,
    Fenced,
    LedgerCreated,
)
from ledger.core.events.parts import Limits
from ledger.core.evolve.evolve import evolve
from ledger.core.limits import DEFAULT_LIMITS
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.memory import MemoryLog
from ledger.log.port import Record, Topic
from ledger.log.wire.codec import frame_event, frame_fence
from ledger.version import CODE_VERSION, READER_VERSION

LEDGER = "5f3a9c1e"
CATALOG = "lake"
STARTED_AT = 1_700_000_000_000
STEP_MS = 7
NEVER = 2**62


def definition(layout: Layout = "listed", kind: TableKind = "managed") -> TableDefinition:
    return TableDefinition(kind, layout, "file:///lake/table", (), (), ())


def write(
    table: int, *, operation: Any = "insert", partition: str = "", read_at: int = 0
) -> TableWrite:
    """Return the part of a commit that changed rows of a partition, or of a table without any."""
    scope: Any = "partition" if partition else "unpartitioned"
    return TableWrite(table, read_at, (CoarseWrite(scope, partition, operation),))


class Driver:
    """One domain, led by this thread; `events` are all that counted, `state` is after them."""

    def __init__(
        self,
        *,
        limits: Limits = DEFAULT_LIMITS,
        catalogs: Sequence[str] = (CATALOG,),
        ledger: str = LEDGER,
        name: str = "demo",
    ) -> None:
        self.start(STARTED_AT)
        self.fence()
        self.internal(LedgerCreated(ledger, name, 0, "commands-0", "events-0", limits))
        for catalog in catalogs:
            self.internal(CatalogCreated(catalog))

    @classmethod
    def empty(cls, now: int) -> Self:
        """Return a driver of a log that holds nothing yet."""
        driver = cls.__new__(cls)
        driver.start(now)
        return driver

    def start(self, now: int) -> None:
        """Begin with an empty log."""
        self.log = MemoryLog()
        self.state = DomainState()
        self.acceptor = Acceptor(LogHead())
        self.events: list[Event] = []
        self.now = now
        self._asked: Counter[int] = Counter()
        self._writer = self.log.writer(Topic.EVENTS)

    def go_on_with(self, log: MemoryLog) -> None:
        """Write into a log that holds something, which is still to be read."""
        self.log = log
        self._writer = log.writer(Topic.EVENTS)

    @property
    def head(self) -> LogHead:
        return self.acceptor.head

    @property
    def records(self) -> list[Record]:
        """Every record of the events topic, counted or not."""
        return self.log.topics[Topic.EVENTS].records

    def fence(self, *, min_reader: int = READER_VERSION) -> Event:
        """Take the lead of the next epoch."""
        control = Control(b"", self.head.epoch + 1, 0, 0, 0, 0, self.now, 0)
        body = Fenced(b"nonce of a term!", "driver", CODE_VERSION, min_reader)
        return self.take(frame_fence(control, body))

    def internal(self, body: Body, *, last_cmd: int | None = None) -> Event:
        """Append an event nobody asked for."""
        control = internal_control(self.head, body, self._tick(), last_cmd=last_cmd)
        return self._frame(control, body)

    def taken_up(self, answer: Body) -> Iterator[Event]:
        """Take up what a cut lost of the tables that an answer writes to, as a leader does."""
        at = max(self.state.at, self.now)
        while (body := take_up(self.state, answer, at)) is not None:
            yield self._frame(filling_control(self.state, self.head, body, at), body)

    def ask(self, command: Command) -> Event:
        at = self._tick()
        body = decide(self.state, command, at)
        if list(self.taken_up(body)):
            body = decide(self.state, command, at)
        return self._frame(answer_control(self.state, self.head, command, body, at), body)

    def take(self, framed: bytes) -> Event:
        """Append bytes that count, as a leader of a later version might write them."""
        event = self.acceptor.take(framed)
        assert event is not None, "the record does not count"
        self.append(framed)
        evolve(self.state, event)
        self.events.append(event)
        return event

    def append(self, framed: bytes) -> None:
        self._writer.append(CATALOG.encode(), framed)

    def zombie(self, body: Body) -> None:
        """Append what a leader of the epoch before would still write; it does not count."""
        head = self.head.copy()
        head.epoch -= 1
        _, framed = frame_event(internal_control(head, body, self.now), body, head.chain)
        self.append(framed)

    def asks(self, session: int) -> tuple[int, int, int]:
        """Return the first fields of the session's next command."""
        self._asked[session] += 1
        return session, self._asked[session], NEVER

    def open_session(self, user: str = "ada", *, nonce: bytes | None = None) -> int:
        nonce = nonce or self.head.position.to_bytes(16, "big")
        command = OpenSession(0, 0, NEVER, nonce, user, "host", "etl", 0)
        return self.ask(command).control.position

    def close_session(self, session: int) -> Event:
        return self.ask(CloseSession(*self.asks(session)))

    def open_txn(self, session: int, kind: TxnType = "default", *, size: int = 1) -> int:
        """Open txns and return the first id."""
        return self.ask(OpenTxn(*self.asks(session), kind, size, 0)).control.txn

    def open_txn_refused(self, session: int, *, n: int = 1) -> CommandRefused:
        """Return the refusal of a txn that a session asks for by a command of this number."""
        body = self.ask(OpenTxn(session, n, NEVER, "default", 1, 0)).body
        assert isinstance(body, CommandRefused)
        return body

    def allocate(self, session: int, txns: Sequence[int], tables: Sequence[int]) -> Event:
        """Take write ids."""
        return self.ask(AllocateWriteIds(*self.asks(session), txns, tables))

    def create_table(
        self,
        session: int,
        name: str,
        *,
        txn: int = 0,
        layout: Layout = "listed",
        kind: TableKind = "managed",
        made: TableDefinition | None = None,
    ) -> int:
        """Create a table and return its id; 0 if that is refused."""
        made = made or definition(layout, kind)
        event = self.ask(CreateTable(*self.asks(session), txn, 0, CATALOG, name, made))
        return int(getattr(event.body, "table", 0))

    def alter_table(
        self,
        session: int,
        table: int,
        made: TableDefinition,
        operation: str,
        *,
        txn: int = 0,
        read_at: int = 0,
    ) -> Event:
        """Give a table another definition."""
        return self.ask(AlterTable(*self.asks(session), txn, read_at, table, made, operation))

    def rename_table(self, session: int, table: int, name: str, *, txn: int = 0) -> Event:
        return self.ask(RenameTable(*self.asks(session), txn, 0, table, name))

    def drop_table(self, session: int, table: int, *, txn: int = 0) -> Event:
        return self.ask(DropTable(*self.asks(session), txn, 0, table))

    def commit(self, session: int, txn: int, *writes: TableWrite, level: str = "") -> Event:
        return self.ask(CommitTxn(*self.asks(session), txn, writes, level))

    def abort(self, session: int, txn: int, wrote: Sequence[int] | None = None) -> Event:
        return self.ask(AbortTxn(*self.asks(session), txn, "no longer wanted", wrote))

    def forget(self, session: int, txns: Sequence[int]) -> Event:
        """State that no data of aborted txns is left."""
        return self.ask(ForgetAborted(*self.asks(session), txns, 0, ()))

    def tidy(self, sessions: Iterable[int] = (), txns: Iterable[int] = ()) -> Event | None:
        """Keep house once, with these sessions and txns overdue; None if nothing is due."""
        body = housekeep(self.state, Lapsed(tuple(sessions), tuple(txns)))
        return self.internal(body) if body is not None else None

    def _frame(self, control: Control, body: Body) -> Event:
        _, framed = frame_event(control, body, self.head.chain)
        return self.take(framed)

    def _tick(self) -> int:
        self.now += STEP_MS
        return max(self.now, self.state.at)
