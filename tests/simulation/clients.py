"""Clients: they ask, beat, repeat what was not answered, and note every outcome they see.

A client knows no offsets. What it knows of a command is the answer that counted under its session
and number, read through the same accept rule as everybody else.
"""

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ledger.core.acceptance import LogHead
from ledger.core.commands import JUDGED_TYPES, OpenSession
from ledger.core.events.events import (
    CommandRefused,
    CommandRepeated,
    Control,
    Event,
    SessionOpened,
    TableCreated,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
)
from ledger.core.state.domain import DomainState
from ledger.errors import LogUnavailableError
from ledger.log.acceptor import Acceptor, event_of
from ledger.log.batches import BatchAcceptor
from ledger.log.log_end import nearest_head
from ledger.log.port import LogReader, LogWriter, Topic
from ledger.log.wire.codec import encode_command
from tests.simulation.faults import dice
from tests.simulation.lake import BY_ROW
from tests.simulation.planning import View
from tests.simulation.processes import Process
from tests.simulation.workload import Workload

if TYPE_CHECKING:
    from tests.simulation.world import World

NEVER: Final = 2**62
OUTSTANDING_MAX: Final = 7
BEAT_S: Final = 0.7
RECEIPTS_MAX: Final = 8
# Sessions choose their lease: that of the ledger, a shorter or a longer one.
SHORT_LEASE_MS: Final = 1_500
SHORT_BEAT_S: Final = 0.35
LEASES_MS: Final = (0, 0, SHORT_LEASE_MS, 7_000)
# Now and then a producer computes for longer than a lease, in which it only beats.
COMPUTES_S: Final = (3.5, 8.0)
COMPUTES_PER_STEP: Final = 0.005


class Waiting:
    """A command that was asked and not yet answered."""

    __slots__ = ("asked_s", "framed", "key", "patience_s")

    def __init__(self, key: bytes, framed: bytes, asked_s: float, patience_s: float) -> None:
        self.key = key
        self.framed = framed
        self.asked_s = asked_s
        self.patience_s = patience_s


class ClientProcess(Process):
    """A producer with one session at a time; after a crash it is another one."""

    def __init__(self, world: "World", name: str) -> None:
        super().__init__(world, name)
        self._pace = dice(world.seed, name, "pace")
        # Answered commands of before a cut, whichever process had asked.
        self._receipts: deque[tuple[bytes, bytes]] = deque(maxlen=RECEIPTS_MAX)
        self.stop()

    @property
    def head(self) -> LogHead | None:
        return self._batches.acceptor.head if self._batches is not None else None

    def settled_state(self) -> DomainState | None:
        return None

    def stop(self) -> None:
        """Forget everything."""
        self.session = 0
        self.waiting: dict[tuple[int, int], Waiting] = {}
        self._nonce = b""
        self._n = 0
        self._batches: BatchAcceptor | None = None
        self._events: LogReader | None = None
        self._writers: dict[Topic, LogWriter] = {}
        self._beat_s, self._beat_every_s = 0.0, BEAT_S
        self._asked_last = False
        self._computes_until_s = 0.0
        self._workload = Workload(self.chance, self.world.shared, self._view)

    def _view(self, table: int) -> View | None:
        """Return what rows show of a table at the position that this client has read up to."""
        return self.world.oracle.mirror.view(self.world.shared.lake, table, self._workload.position)

    def step(self) -> float:
        """Read answers, beat, repeat, ask."""
        if self._batches is None or self._events is None:
            is_trimmed = bool(self.log.ends(Topic.EVENTS)[0])
            head, offset = nearest_head(self.log, 0) if is_trimmed else (LogHead(), 0)
            acceptor = Acceptor(head, self.world.variant.rule)
            self._batches = self.world.variant.batches(self.log, acceptor, offset)
            self._events = self._batches.open()
        for record, control in self._batches.controls(self._events.read(500, 0.0)):
            if control is not None:
                self._read(control, record.value)
        self._beat()
        self._repeat()
        self._ask_again()
        if not self.session:
            self._open_session()
        elif self.world.is_active:
            if not self._computes():
                self._ask(self.chance.choice((0, 0, 0, 1, 1, 2)))
        elif not self._asked_last:
            # A record lost without a word is noticed by the next one.
            self._asked_last = True
            self._ask(1)
        return self.chance.uniform(0.06, 0.35)

    def _computes(self) -> bool:
        """Tell whether the producer has something to do for which it asks nothing."""
        now_s = self.world.timeline.now_s
        if now_s >= self._computes_until_s and self._pace.random() < COMPUTES_PER_STEP:
            self._computes_until_s = now_s + self._pace.uniform(*COMPUTES_S)
        return now_s < self._computes_until_s

    def _read(self, control: Control, framed: bytes) -> None:
        if (control.session, control.n) not in self.waiting:
            return
        event = event_of(control, framed)
        if control.n == 0 and getattr(event.body, "nonce", b"") != self._nonce:
            return
        self._answered(event)

    def _answered(self, event: Event) -> None:
        control, body = event
        self.world.seen(self, event)
        waiting = self.waiting.pop((control.session, control.n))
        if control.n and not self.world.damage.operator.has_cut:
            self._receipts.append((waiting.key, waiting.framed))
        self._workload.position = control.position
        if control.n == 0:
            opened = isinstance(body, SessionOpened)
            self.session = control.position if opened else getattr(body, "answered", 0)
            self._n = 0
            self._beat_s = 0.0
            return
        self._learn(control, body)

    def _learn(self, control: Control, body: Any) -> None:
        own, shared = self._workload.own, self.world.shared
        match body:
            case TxnOpened() | CommandRepeated(outcome="TxnOpened"):
                first = body.first if isinstance(body, CommandRepeated) else control.txn
                own.extend(range(first, first + body.size))
                if getattr(body, "type", "") in JUDGED_TYPES:
                    self._workload.judged.update(range(first, first + body.size))
                shared.txns.extend(range(first, first + body.size))
            case TxnCommitted() | TxnAborted():
                if control.txn in own:
                    own.remove(control.txn)
                if isinstance(body, TxnAborted):
                    shared.aborted.append(control.txn)
            case TableCreated() if BY_ROW in body.definition.properties:
                shared.lake.tables.append(body.table)
            case TableCreated():
                shared.tables.append(body.table)
            case CommandRefused(reason="TxnNotOpen") if body.subject in own:
                own.remove(body.subject)
            case CommandRefused(reason="SessionExpired") if control.session == self.session:
                self.session = 0
                own.clear()

    def _open_session(self) -> None:
        if (0, 0) in self.waiting:
            return
        self._nonce = self.chance.randbytes(16)
        lease_ms = self.chance.choice(LEASES_MS)
        self._beat_every_s = SHORT_BEAT_S if lease_ms == SHORT_LEASE_MS else BEAT_S
        command = OpenSession(0, 0, NEVER, self._nonce, self.name, "host", "etl", lease_ms)
        self._send(self._nonce, (0, 0), encode_command(command))

    def _ask(self, count: int) -> None:
        for _ in range(count):
            if len(self.waiting) >= OUTSTANDING_MAX:
                return
            self._n += 1
            never = self.chance.random() < 0.95
            not_after = NEVER if never else self.clock.now_ms() + 1_500
            framed = encode_command(self._workload.next((self.session, self._n, not_after)))
            if self.chance.random() < 0.02:
                framed += b"and something no schema explains"
            self.world.asked += 1
            self._send(str(self.session).encode(), (self.session, self._n), framed)

    def _send(self, key: bytes, asker: tuple[int, int], framed: bytes) -> None:
        now_s = self.world.timeline.now_s
        self.waiting[asker] = Waiting(key, framed, now_s, self.chance.uniform(0.8, 3.0))
        self._append(Topic.COMMANDS, key, framed)

    def _repeat(self) -> None:
        now_s = self.world.timeline.now_s
        for waiting in self.waiting.values():
            if now_s - waiting.asked_s > waiting.patience_s:
                waiting.asked_s = now_s
                self._append(Topic.COMMANDS, waiting.key, waiting.framed)

    def _ask_again(self) -> None:
        """Ask behind a cut what was answered before it, as who does not know of the cut would."""
        if self._receipts and self.world.is_active and self.world.damage.operator.has_cut:
            self._append(Topic.COMMANDS, *self._receipts.pop())

    def _beat(self) -> None:
        now_s = self.world.timeline.now_s
        if self.session and now_s - self._beat_s >= self._beat_every_s:
            self._beat_s = now_s
            self._append(Topic.HEARTBEATS, str(self.session).encode(), b"")

    def _append(self, topic: Topic, key: bytes, value: bytes) -> None:
        """Append; what the writer fails to deliver is repeated later with what is not answered."""
        try:
            if topic not in self._writers:
                self._writers[topic] = self.log.writer(topic)
            self._writers[topic].append(key, value)
        except LogUnavailableError:
            self._writers.pop(topic).close()
