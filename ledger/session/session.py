"""The session of a process: numbers its commands, tracks unanswered ones, and sends heartbeats.

Commands are numbered densely, at most 1,024 ahead of the oldest one without an answer. The ledger
remembers that many answers, so a command sent again under its number gets its first outcome and is
never executed twice. The outcome of a command without an answer is unknown until the answer is
seen. Heartbeats keep the session open while its process lives. The txns of a session end with it,
for good.
"""

from collections import deque
from contextlib import suppress
from threading import Condition, Lock, Thread, get_ident
from threading import Event as Signal
from time import monotonic
from typing import Final, NamedTuple

from ledger.clock import Clock
from ledger.config.settings import ClientSettings
from ledger.core.commands import AbortTxn, CloseSession, SessionCommand
from ledger.core.events.events import (
    Body,
    CommandRefused,
    CommandRepeated,
    Control,
    Event,
    TxnAborted,
)
from ledger.core.limits import WINDOW
from ledger.core.refusals import Reason
from ledger.errors import LedgerError, LimitExceededError, LogRefusedError
from ledger.log_lines import CommandLines, LogLines
from ledger.session.channel import Channel
from ledger.session.endings import Endings
from ledger.session.exchange import Times, exchange
from ledger.session.silence import Silence
from ledger.session.tail import Asker, Awaited
from ledger.tracing import COMMAND, note, now_ns

log_lines = LogLines("lakeledger.session")

UNNUMBERED: Final = (0, 0, 0)
"""Session, number and last time of a command before `Session.ask` fills them in."""

BEAT: Final = b"beat"


class CommandAnswer(NamedTuple):
    """The event that answers a command; `is_repeat` = the command had been answered before.

    A repeat is the first answer if this client has seen it, else CommandRepeated.
    """

    control: Control
    body: Body
    is_repeat: bool


class ClientSession:
    """An open session with the lease `lease_s`, which beats every `beat_s`; threads may share it.

    Attributes:
        number: the position of its SessionOpened.
        is_expired: whether it has ended, or cannot be used any more.
        open_txns: its txns that this process has not ended.
    """

    def __init__(
        self,
        channel: Channel,
        number: int,
        *,
        lease_s: float,
        beat_s: float,
        settings: ClientSettings,
        clock: Clock,
        ledger: str = "",
    ) -> None:
        self.number = number
        self.is_expired = False
        self._channel = channel
        self._settings = settings
        self._clock = clock
        self._ledger = ledger
        self._next_n = 1
        self._answered_n = 0
        # By number: the monotonic deadline of the thread that waits, and its receiver.
        self._outstanding: dict[int, tuple[float, Awaited]] = {}
        self._unanswered: dict[int, Awaited] = {}
        # Its own Lock: Ctrl-C while a Condition is entered, in Python, may leave it locked.
        self._turn = Lock()
        self._room = Condition(self._turn)
        self._later: deque[SessionCommand] = deque()
        self.open_txns: set[int] = set()
        self._silence = Silence(lease_s)
        self._silent = Signal()
        self._lines = CommandLines("lakeledger.session")
        self._pulse = Thread(
            target=self._beat, args=(beat_s,), name="lakeledger-pulse", daemon=True
        )
        self._pulse.start()

    def ask(
        self,
        command: SessionCommand,
        timeout_s: float | None = None,
        *,
        asked: list[Asker] | None = None,
    ) -> CommandAnswer:
        """Number a command and return its answer; a refusal is an answer too.

        The session and the number are appended to `asked` before the command is sent. So a caller
        interrupted by Ctrl-C can still ask for the outcome.

        Raises OutcomeUnknownError if no answer comes in time, or the tail ends first. Nothing was
        sent if it raises LimitExceededError, as too many commands are unanswered, or LogError, as
        the tail had ended before.
        """
        self._channel.check()
        busy, thread = self._channel.tail.busy, get_ident()
        busy.add(thread)
        try:
            return self._ask(command, timeout_s, asked)
        finally:
            busy.discard(thread)

    @property
    def is_own(self) -> bool:
        """Whether this process made the session, not the parent of a fork."""
        return self._channel.is_own

    @property
    def can_ask(self) -> bool:
        """Whether this thread may wait for an answer, see `Tail.busy`."""
        return get_ident() not in self._channel.tail.busy

    @property
    def endings(self) -> Endings:
        """The events that ended open txns of this process."""
        return self._channel.tail.endings

    @property
    def is_open(self) -> bool:
        """Whether its txns may be open, as far as this process knows."""
        return self.is_own and not self.is_expired and not self._channel.is_closed

    def hear(self, position: int) -> None:
        """Wait briefly for the events up to a position that a reader has seen."""
        self._channel.tail.hear(position)

    def why_silent(self) -> str:
        """Return why the session expired, as far as this process knows, and what helps."""
        return self._silence.told()

    def ask_later(self, command: SessionCommand) -> None:
        """Let the heartbeat thread send a command after its next beat; the answer is dropped."""
        self._later.append(command)

    def _ask(
        self, command: SessionCommand, timeout_s: float | None, asked: list[Asker] | None
    ) -> CommandAnswer:
        timeout_s = self._settings.timeout_s if timeout_s is None else timeout_s
        times = Times(self._settings.attempt_s, monotonic() + timeout_s)
        n, awaited = self._number(times)
        event: Event | None = None
        began_ns = now_ns()
        self._silence.note_sign()
        try:
            if asked is not None:
                asked.append((self.number, n))
            numbered = command._replace(
                session=self.number, n=n, not_after=times.not_after(self._clock)
            )
            if self._lines.are_on:
                self._lines.send(self.number, n, command)
            event = exchange(self._channel, numbered, awaited, times)
            if self._lines.are_on:
                self._lines.note("answered", event)
            if began_ns:
                note_answer(self._ledger, command, event, began_ns)
        finally:
            self._settle(n, None if event is not None else awaited)
        return self._answer(event)

    def late_answer(self, n: int) -> Event | None:
        """Return the late answer to a command, None if absent."""
        awaited = self._unanswered.get(n)
        return awaited.wait(0) if awaited is not None else None

    def close(self) -> None:
        """End the session; the ledger learns it if the command gets through in a short time."""
        self._silent.set()
        try:
            if not self.is_expired:
                # If the command does not get through, the lease ends the session.
                with suppress(LedgerError):
                    self.ask(CloseSession(*UNNUMBERED), self._settings.close_s)
        finally:
            self._expire()
            self._channel.tail.leave(self.number)
            self._pulse.join(self._settings.close_s)

    def _number(self, times: Times) -> tuple[int, Awaited]:
        """Return the next number, as soon as there is room, and what its answer comes to."""
        with self._turn:
            while not self._has_room():
                if (left_s := times.left_s()) <= 0:
                    raise self._no_room()
                # Late answers make room too, but do not wake this thread: it looks for them.
                self._room.wait(min(times.attempt_s, left_s))
            n = self._next_n
            awaited = self._channel.tail.expect((self.number, n))
            self._next_n += 1
            self._outstanding[n] = times.deadline_s, awaited
        return n, awaited

    def _no_room(self) -> LimitExceededError:
        if not self._outstanding:
            # Without a command in flight no answer will make room: only a fresh session does.
            self._expire()
        return LimitExceededError(
            f"{WINDOW} commands of session {self.number} have no answer, the most that may be in "
            "flight. Nothing was sent; check that broker and sequencer run, then try again",
            reason=Reason.LIMIT_EXCEEDED,
        )

    def _has_room(self) -> bool:
        """Return whether the ledger takes the next number, see `ledger.core.state.sessions`."""
        if self._next_n >= self._oldest() + WINDOW:
            self._drop_overdue()
            if self._next_n >= self._oldest() + WINDOW:
                return False
        if self._next_n > self._answered_n + WINDOW:
            late = [n for n, awaited in self._unanswered.items() if awaited.has_come]
            self._answered_n = max([self._answered_n, *late])
        return self._next_n <= self._answered_n + WINDOW

    def _oldest(self) -> int:
        return next(iter(self._outstanding), self._next_n)

    def _drop_overdue(self) -> None:
        """Free the numbers of calls that were interrupted before they could free them."""
        now_s = monotonic()
        while self._outstanding:
            n = self._oldest()
            deadline_s, awaited = self._outstanding[n]
            if deadline_s >= now_s:
                return
            del self._outstanding[n]
            self._unanswered[n] = awaited

    def _settle(self, n: int, unanswered: Awaited | None) -> None:
        """Free a number; keep the receiver of a late answer while `outcome()` may ask for it."""
        with self._turn:
            # It may be gone already: overdue, when other calls needed the room.
            self._outstanding.pop(n, None)
            if unanswered is None:
                self._answered_n = max(self._answered_n, n)
            else:
                self._unanswered[n] = unanswered
                self._channel.tail.wait_no_more((self.number, n))
            for old in [each for each in self._unanswered if each <= n - WINDOW]:
                del self._unanswered[old]
                self._channel.tail.forget((self.number, old))
            self._room.notify_all()

    def _answer(self, event: Event) -> CommandAnswer:
        control, body = event
        match body:
            case CommandRefused(reason=Reason.SESSION_EXPIRED):
                self._expire()
                body = body._replace(message=f"{body.message}. {self._silence.told()}")
            case CommandRepeated():
                return CommandAnswer(*(self._seen_at(body.answered) or event), is_repeat=True)
            case _:
                pass
        return CommandAnswer(control, body, is_repeat=False)

    def _expire(self) -> None:
        self.is_expired = True
        self._silent.set()

    def _ask_what_is_left(self, beat_s: float) -> None:
        """Send the commands left for later, but delay no heartbeat by more than one beat."""
        ends_s = monotonic() + beat_s
        with suppress(LedgerError):
            while self._later and (left_s := ends_s - monotonic()) > 0:
                self.ask(self._later.popleft(), left_s)

    def _seen_at(self, position: int) -> Event | None:
        """Return the late answer at a position, None if it was not seen."""
        with self._turn:
            late = [awaited.wait(0) for awaited in self._unanswered.values()]
        return next((each for each in late if each and each.control.position == position), None)

    def _beat(self, beat_s: float) -> None:
        key, is_told = str(self.number).encode(), False
        # Ctrl-C may interrupt a close before it comes to this session: then the channel is closed.
        while not self._silent.wait(beat_s) and not self._channel.is_closed:
            try:
                # `send` returns the error of an earlier beat.
                refused = self._channel.heartbeats.send(key, BEAT)
                self._silence.note_sign(refused)
                if isinstance(refused, LogRefusedError) and not is_told:
                    tell(self.number, refused)
                    is_told = True
            except Exception as error:  # noqa: BLE001 - the next beat may go, and keep it open
                if not is_told:
                    tell(self.number, error)
                is_told = True
            self._ask_what_is_left(beat_s)


def note_answer(ledger: str, command: SessionCommand, event: Event, began_ns: int) -> None:
    """Trace a command that was answered."""
    control, body = event
    said = {"command": type(command).__name__, "answer": type(body).__name__}
    if isinstance(body, CommandRefused | TxnAborted) and not isinstance(command, AbortTxn):
        said["refused"] = body.reason
    note(COMMAND, ledger, control, began_ns, **said)


def tell(session: int, error: Exception) -> None:
    """Write a line of log about a beat that could not be sent."""
    log_lines.warning("no beat", session=session, error=type(error).__name__, why=str(error))
