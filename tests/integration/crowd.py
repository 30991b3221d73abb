"""A crowd: sessions that keep hundreds of commands under way, and one reader of all answers.

They write commands as an SDK does, each under its session and number, and send again what is not
answered soon. A lane is one line of work of a session with one command under way; as soon as that
is answered the next one goes out. The reader folds the log from its beginning, through every
take-over, and keeps what each command was answered first.
"""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from threading import Condition, Thread
from typing import Any, Final, NamedTuple

from ledger.core.acceptance import LogHead
from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    CoarseWrite,
    Command,
    CommitTxn,
    CreateTable,
    OpenSession,
    OpenTxn,
    SessionCommand,
    TableDefinition,
    TableWrite,
)
from ledger.core.events.events import Event, Fenced, SessionOpened, TableCreated
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, Record, Topic
from ledger.log.wire.codec import encode_command
from tests.integration.result import Asker, Result, asker_of, result_of

CATALOG: Final = "main"
TABLES: Final = 8
PARTITIONS: Final = 12
NEVER_MS: Final = 2**62
UNNUMBERED: Final = (0, 0, 0)
READ_MAX: Final = 2_000
READ_WAIT_S: Final = 0.02
SEND_AGAIN_S: Final = 1.0
PATIENCE_S: Final = 60.0

Work = Generator[SessionCommand, Event, None]


class Term(NamedTuple):
    """The lead of one sequencer: when its fence was appended, and its first answer, by Kafka."""

    epoch: int
    sequencer: str
    fenced_ms: int
    answered_ms: int


@dataclass(slots=True)
class Lane:
    """One line of work: `asked` is its command under way, as bytes, sent last at `sent_s`."""

    session: int
    work: Work
    n: int = 0
    asked: bytes = b""
    sent_s: float = 0.0


def work_on(tables: Sequence[int], chance: Random) -> Work:
    """Yield the commands of one lane for ever: txns that insert, update, or come to nothing."""
    while True:
        table = chance.choice(tables)
        if chance.random() < 0.2:
            yield CommitTxn(*UNNUMBERED, 0, (written(table, chance, "insert"),))
            continue
        opened = yield OpenTxn(*UNNUMBERED, "default", 1, 0)
        txn = opened.control.txn
        yield AllocateWriteIds(*UNNUMBERED, (txn,), (table,))
        if chance.random() < 0.1:
            yield AbortTxn(*UNNUMBERED, txn, "no longer wanted", [])
            continue
        operation = "update" if chance.random() < 0.05 else "insert"
        yield CommitTxn(*UNNUMBERED, txn, (written(table, chance, operation),))


def written(table: int, chance: Random, operation: Any) -> TableWrite:
    partition = f"month={chance.randrange(PARTITIONS)}"
    return TableWrite(table, 0, (CoarseWrite("partition", partition, operation),))


class Crowd:
    """`sessions` of `lanes` each; `returned` is what every command was answered first.

    Attributes:
        terms: who led, in order, as far as it was followed.
        acceptor: the end of the fold of everything that was read.
        state: the state there.
    """

    def __init__(self, log: Log, *, sessions: int, lanes: int, seed: int) -> None:
        self.returned: dict[Asker, Result] = {}
        self.terms: list[Term] = []
        self.tables: list[int] = []
        self.acceptor, self.state = Acceptor(LogHead()), DomainState()
        self._chance = Random(seed)  # noqa: S311 - repeatable on purpose
        self._log = log
        self._lanes_each = lanes
        self._openings = {self._chance.randbytes(16): b"" for _ in range(sessions)}
        self._numbers: dict[int, count[int]] = {}
        self._lanes: dict[Asker, Lane] = {}
        self._events = log.reader(Topic.EVENTS, 0)
        self._commands = log.writer(Topic.COMMANDS)
        self._is_ending = False
        self._failure: BaseException | None = None
        self._fence: tuple[int, str, int] | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="crowd", daemon=True)

    def start(self) -> None:
        """Open the sessions, create the tables, and begin to work."""
        for nonce in self._openings:
            command = OpenSession(0, 0, NEVER_MS, nonce, "crowd", "host", "kill-series", 0)
            self._commands.append(b"", encode_command(command))
        self._thread.start()

    def wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait until something is so, looked at whenever the log grew; bounded."""
        with self._changed:
            ended = self._changed.wait_for(lambda: self._failure or is_so(), PATIENCE_S)
        if self._failure is not None:
            raise self._failure
        if not ended:
            message = f"not within {PATIENCE_S:.0f} s: {what}"
            raise TimeoutError(message)

    def wait_for_term(self, after: int) -> Term:
        """Return the term that follows an epoch, once it has answered a command."""
        self.wait_until(
            lambda: bool(self.terms) and self.terms[-1].epoch > after,
            f"a leader follows that of epoch {after}",
        )
        return next(term for term in self.terms if term.epoch > after)

    def finish(self) -> None:
        """Ask nothing more, and wait until everything asked is answered."""
        self._is_ending = True
        self._thread.join(PATIENCE_S)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive():
            message = f"{len(self._lanes)} commands are not answered"
            raise TimeoutError(message)

    def read_on(self) -> None:
        """Read what was written after the last answer, to the end, and let go of the log."""
        end = self._log.ends(Topic.EVENTS)[1]
        while self._events.next_offset() < end:
            for record in self._events.read(READ_MAX, PATIENCE_S):
                self._take(record)
        self._events.close()
        self._commands.close()

    def _run(self) -> None:
        try:
            while not self._is_ending or self._lanes:
                for record in self._events.read(READ_MAX, READ_WAIT_S):
                    self._take(record)
                self._send_again()
                self._commands.check()
                with self._changed:
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            self._failure = error
            with self._changed:
                self._changed.notify_all()

    def _take(self, record: Record) -> None:
        event = self.acceptor.take(record.value)
        if event is None:
            return
        evolve(self.state, event)
        control, body = event
        match body:
            case Fenced():
                self._fence = control.epoch, body.sequencer, record.timestamp
            case SessionOpened() if body.nonce in self._openings:
                self._admit(control.position)
            case TableCreated():
                self.tables.append(body.table)
            case _:
                pass
        if control.session:
            self._note_term(record.timestamp)
            self._take_answer(event)

    def _note_term(self, at_ms: int) -> None:
        if self._fence is not None:
            self.terms.append(Term(*self._fence, at_ms))
            self._fence = None

    def _take_answer(self, event: Event) -> None:
        asker = asker_of(event)
        lane = self._lanes.pop(asker, None)
        if lane is None:
            return
        self.returned[asker] = result_of(event)
        if not self._is_ending:
            self._ask(lane, lane.work.send(event))

    def _admit(self, number: int) -> None:
        """Let a session that was opened begin; the last one in creates the tables."""
        self._numbers[number] = count(1)
        if len(self._numbers) == len(self._openings):
            opener = Lane(number, self._found())
            self._ask(opener, next(opener.work))

    def _found(self) -> Work:
        """Yield what creates the tables, and then let everybody work."""
        definition = TableDefinition("managed", "listed", "file:///lake/t", (), ("month",), ())
        for each in range(TABLES):
            yield CreateTable(*UNNUMBERED, 0, 0, CATALOG, f"db.t{each}", definition)
        for session in self._numbers:
            for _ in range(self._lanes_each):
                lane = Lane(session, work_on(self.tables, self._chance))
                self._ask(lane, next(lane.work))
        yield from work_on(self.tables, self._chance)

    def _ask(self, lane: Lane, command: SessionCommand) -> None:
        lane.n = next(self._numbers[lane.session])
        numbered: Command = command._replace(session=lane.session, n=lane.n, not_after=NEVER_MS)
        lane.asked = encode_command(numbered)
        self._lanes[lane.session, lane.n] = lane
        self._send(lane)

    def _send(self, lane: Lane) -> None:
        self._commands.append(str(lane.session).encode(), lane.asked)
        lane.sent_s = time.monotonic()

    def _send_again(self) -> None:
        """Send what is not answered once more; the oldest stand first."""
        now_s = time.monotonic()
        for lane in list(self._lanes.values()):
            if now_s - lane.sent_s > SEND_AGAIN_S:
                self._send(lane)
