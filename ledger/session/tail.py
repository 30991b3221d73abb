"""The tail: follows the events of a domain for one process and delivers each answer.

It begins after the newest state checkpoint and folds control fields only, as they decide which
records count. It decodes a body only if the record answers a command of this process. A record that
does not count answers nothing. Damage, or an unknown version, ends the tail, and every waiting
thread gets the error. The tail waits for an unreachable broker.
"""

from contextlib import closing
from copy import copy
from threading import Event as Signal
from threading import Lock, Thread, get_ident
from time import monotonic
from typing import Final, Self

from ledger.core.acceptance import CHAIN_AT, LogHead
from ledger.core.events.events import (
    CommandRefused,
    CommandRepeated,
    Control,
    Event,
    LedgerCreated,
    SessionOpened,
    TableAltered,
    TableDropped,
    TableRenamed,
)
from ledger.errors import (
    LedgerError,
    LogError,
    LogUnavailableError,
    OffsetGoneError,
    SettingsError,
    TopicMissingError,
)
from ledger.log.acceptor import Acceptor, event_of
from ledger.log.batches import BatchAcceptor, check_topic
from ledger.log.beginning import check_not_lost
from ledger.log.log_end import nearest_head
from ledger.log.port import Log, LogReader, Topic
from ledger.log.trimmed import start_of
from ledger.log.wire.codec import HEADER_OF
from ledger.session.endings import Endings

READ_MAX = 2_000
READ_WAIT_S: Final = 0.05
AWAY_PAUSE_S = 0.2
HEAR_WAIT_S: Final = 1.0
HEAR_PAUSE_S: Final = 0.001
# The schema id before the chain gives the type of a record without decoding it.
OPENINGS: Final = {HEADER_OF[kind] for kind in (SessionOpened, CommandRepeated, CommandRefused)}
REDEFINITIONS: Final = {HEADER_OF[kind] for kind in (TableAltered, TableRenamed, TableDropped)}

Asker = tuple[int, int]
"""The session and its number of the command, (0, 0) = not a command of a session."""


class Awaited:
    """An answer that one thread waits for and another delivers, once."""

    __slots__ = ("_arrived", "_outcome")

    def __init__(self) -> None:
        self._outcome: Event | LedgerError | None = None
        # A bare lock wakes a waiter faster than the conditions built on it.
        self._arrived = Lock()
        self._arrived.acquire()

    @property
    def has_come(self) -> bool:
        """Return whether the answer, or an error, has arrived."""
        return self._outcome is not None

    def deliver(self, outcome: Event | LedgerError) -> None:
        """Wake the waiting thread with its answer, or with the error that ended the tail."""
        self._outcome = outcome
        self._arrived.release()

    def wait(self, timeout_s: float) -> Event | None:
        """Return the answer, None if it did not come in time; raises what ended the tail."""
        if self._outcome is None:
            self._arrived.acquire(timeout=max(0.0, timeout_s))
        if isinstance(self._outcome, LedgerError):
            raise copy(self._outcome) from self._outcome
        return self._outcome


class Tail:
    """Follows the events behind `head` in a thread of its own, from `start` to `close`.

    Attributes:
        position: the position of the newest event seen.
        trouble: why the tail cannot read at the moment, None if no trouble is known.
        endings: the events that ended open txns of this process.
        busy: threads that must not block on an answer: the tail's own, and any thread already
            inside a call, which holds its locks. Garbage collection can close a generator on such
            a thread.
    """

    def __init__(
        self, log: Log, head: LogHead, offset: int, read_wait_s: float = READ_WAIT_S
    ) -> None:
        self.position = head.position
        # The tail did not read the events up to the head, and the last one may have redefined a
        # table.
        self._redefined = head.position, head.position
        self.trouble: LogUnavailableError | None = None
        self.endings = Endings()
        self.busy: set[int] = set()
        self._read_wait_s = read_wait_s
        self._batches = BatchAcceptor(log, Acceptor(head), offset)
        self._commands: dict[Asker, Awaited] = {}
        # Late answers: no thread waits, but `outcome()` may still ask.
        self._late: dict[Asker, Awaited] = {}
        self._openings: dict[bytes, Awaited] = {}
        self._ended: LedgerError | None = None
        self._ending = Lock()
        self._stop = Signal()
        self._thread = Thread(target=self.run, name="lakeledger-tail", daemon=True)

    @classmethod
    def start(cls, log: Log, domain: int, read_wait_s: float = READ_WAIT_S) -> Self:
        """Return a tail that follows from the newest checkpoint on.

        A read waits up to `read_wait_s` for the next event, and `close` waits for that read.
        """
        head, offset = nearest_head(log, domain)
        tail = cls(log, head, offset, read_wait_s)
        tail._thread.start()
        return tail

    def expect(self, asker: Asker) -> Awaited:
        """Return the receiver of a command's answer; call it before sending the command.

        Raises what ended the tail.
        """
        with self._ending:
            self._check()
            return self._commands.setdefault(asker, Awaited())

    def expect_session(self, nonce: bytes) -> Awaited:
        """Return the receiver of the answer to the OpenSession with this nonce."""
        with self._ending:
            self._check()
            return self._openings.setdefault(nonce, Awaited())

    def wait_no_more(self, asker: Asker) -> None:
        """Keep an answer that comes late, although no thread waits for it."""
        with self._ending:
            if asker in self._commands:
                # Always in one of both: the tail's thread looks for it meanwhile.
                self._late[asker] = self._commands[asker]
                del self._commands[asker]

    def forget(self, asker: Asker) -> None:
        """Expect an answer no longer."""
        self._taken(asker)

    def forget_session(self, nonce: bytes) -> None:
        """Expect the answer to an OpenSession no longer."""
        self._openings.pop(nonce, None)

    def leave(self, session: int) -> None:
        """End the waits for answers to a session's commands: its ledger was closed."""
        with self._ending:
            for asker in [each for each in (*self._commands, *self._late) if each[0] == session]:
                tell(self._taken(asker), closed())

    @property
    def awaited(self) -> int:
        """The number of commands that wait for their answers."""
        return len(self._commands)

    @property
    def has_ended(self) -> bool:
        """Whether the tail has ended and delivers nothing more."""
        return self._ended is not None

    @property
    def redefined_at(self) -> int:
        """The position of the newest event that altered, renamed or dropped a table.

        It is at least the position at which the tail began. A caller that reads `position` first
        misses no such event up to there.
        """
        return self._redefined[0]

    def hear(self, position: int) -> None:
        """Wait up to a second for the tail to reach a position that a reader has seen.

        It does not wait while the broker is unreachable: reads go on without the broker.
        """
        ends_s = monotonic() + HEAR_WAIT_S
        while self.position < position and monotonic() < ends_s:
            if self.has_ended or self.trouble is not None:
                return
            self._stop.wait(HEAR_PAUSE_S)

    def is_only_change(self, position: int, since: int) -> bool:
        """Return whether only the event at `position` has redefined a table after `since`."""
        newest, before = self._redefined
        return newest <= position and before <= since

    def close(self, timeout_s: float = 1.0) -> None:
        """End the thread; threads that still wait get the error that this ledger was closed."""
        self._stop.set()
        self._end(closed())
        self._thread.join(timeout_s)

    def run(self) -> None:
        """Follow until closed; an earlier end is delivered to every waiting thread."""
        self.busy.add(get_ident())
        try:
            while not self._stop.is_set():
                self._follow()
        except LedgerError as error:
            self._end(error)
        except Exception as error:  # noqa: BLE001 - else waiting threads would wait in vain
            ended = LogError(
                f"reading the events failed with {error!r}; report it and connect again"
            )
            ended.__cause__ = error
            self._end(ended)

    def _check(self) -> None:
        if self._ended is not None:
            raise copy(self._ended) from self._ended

    def _follow(self) -> None:
        """Read until closed, or until the broker is unreachable."""
        try:
            with closing(self._batches.open()) as reader:
                while not self._stop.is_set():
                    records = reader.read(READ_MAX, self._read_wait_s)
                    for record, control in self._batches.controls(records):
                        if control is not None:
                            self._take(control, record.value)
                    self.trouble = None
        except LogUnavailableError as error:
            self.trouble = error
            self._stop.wait(AWAY_PAUSE_S)
        except OffsetGoneError:
            # The topic was cut or made anew: opening it again raises the error for that.
            self._batches.open().close()
            raise

    def _take(self, control: Control, framed: bytes) -> None:
        header = framed[:CHAIN_AT]
        if header in REDEFINITIONS:
            self._redefined = control.position, self._redefined[0]
        elif self.endings.concerns(control.txn, header):
            self.endings.take(event_of(control, framed))
        self.position = control.position
        if control.session:
            self._take_answer((control.session, control.n), control, framed)
        elif self._openings and header in OPENINGS:
            self._take_opening(control, framed)

    def _take_answer(self, asker: Asker, control: Control, framed: bytes) -> None:
        if asker not in self._commands and asker not in self._late:
            return
        # An answer that cannot be decoded ends the tail, and so ends this wait too.
        event = event_of(control, framed)
        with self._ending:
            awaited = self._taken(asker)
        if awaited is not None:
            awaited.deliver(event)

    def _take_opening(self, control: Control, framed: bytes) -> None:
        event = event_of(control, framed)
        assert isinstance(event.body, SessionOpened | CommandRepeated | CommandRefused)
        awaited = self._openings.pop(event.body.nonce, None)
        if awaited is not None:
            awaited.deliver(event)

    def _taken(self, asker: Asker) -> Awaited | None:
        """Remove and return the receiver of an answer, None if absent."""
        return self._commands.pop(asker, None) or self._late.pop(asker, None)

    def _end(self, error: LedgerError) -> None:
        with self._ending:
            if self._ended is None:
                self._ended = error
            for asker in (*self._commands, *self._late):
                tell(self._taken(asker), self._ended)
            for nonce in list(self._openings):
                tell(self._openings.pop(nonce, None), self._ended)


def tell(awaited: Awaited | None, error: LedgerError) -> None:
    """Deliver an error to a receiver, unless another thread has taken it."""
    if awaited is not None:
        awaited.deliver(error)


def closed() -> LogError:
    """Return the error of a wait that ends because the ledger is closed."""
    return LogError("this ledger was closed; connect again")


def read_genesis(log: Log, timeout_s: float) -> LedgerCreated:
    """Return the creation event of the ledger; wait up to `timeout_s` for its first sequencer.

    Raises SettingsError if the ledger was never created, EventsLostError if its events are gone,
    LogDamagedError if the events are of another topic or the first events are gone,
    LogUnavailableError if the broker does not answer.
    """
    try:
        start, end = log.ends(Topic.EVENTS, timeout_s)
    except TopicMissingError:
        check_not_lost(log)
        raise
    if start and (mark := start_of(log).mark) is not None:
        check_topic(log, mark.created)
        return mark.created
    acceptor = Acceptor(LogHead())
    try:
        with closing(log.reader(Topic.EVENTS, 0)) as reader:
            created = first_created(reader, acceptor, timeout_s, end)
            if created is None:
                check_not_lost(log, reader.next_offset())
                created = first_created(reader, acceptor, timeout_s)
    except OffsetGoneError:
        if start or not log.ends(Topic.EVENTS, timeout_s)[0]:
            raise
        # A trim has come between.
        return read_genesis(log, timeout_s)
    if created is None:
        # A reader cannot tell an unreachable broker from an empty topic; `ends` raises.
        log.ends(Topic.EVENTS, timeout_s)
        raise SettingsError(
            f"the ledger was not created within {timeout_s:.0f} s: its topics exist, but no "
            "sequencer has written to them. Start `lakeledger up` or `lakeledger serve sequencer`"
        )
    check_topic(log, created)
    return created


def first_created(
    reader: LogReader, acceptor: Acceptor, timeout_s: float, end: int | None = None
) -> LedgerCreated | None:
    """Return the LedgerCreated of a log read from its beginning, None if absent.

    With `end` only the records before that offset are read.
    """
    while (end is None or reader.next_offset() < end) and (records := reader.read(1, timeout_s)):
        event = acceptor.take(records[0].value)
        if event is not None and isinstance(event.body, LedgerCreated):
            return event.body
    return None
