"""The session of a process: numbers its commands, remembers what was not answered, and beats.

Commands are numbered densely, at most 1,024 ahead of the oldest one without an answer: that many
answers the ledger remembers, so a command sent again under its number is told its first outcome and
never executed twice. A command without an answer is neither done nor failed: its outcome is
unknown, until its answer is seen after all. Heartbeats keep the session open while its process
lives; once it has ended, so have its txns, and nothing brings them back.
"""

from collections import deque
from contextlib import suppress
from threading import Condition, Lock, Thread, get_ident
from threading import Event as Signal
from time import monotonic
from typing import Final, NamedTuple

from ledger.clock import Clock
from ledger.config.settings import ClientSettings
from ledger.core.commands import CloseSession, SessionCommand
from ledger.core.events.events import Body, CommandRefused, CommandRepeated, Control, Event
from ledger.core.limits import WINDOW
from ledger.core.refusals import Reason
from ledger.errors import LedgerError, LimitExceededError, LogRefusedError
from ledger.sdk.channel import Channel
from ledger.sdk.endings import Endings
from ledger.sdk.exchange import Times, exchange
from ledger.sdk.silence import Silence
from ledger.sdk.tail import Asker, Awaited

UNNUMBERED: Final = (0, 0, 0)
"""Session, number and last time of a command before `Session.ask` fills them in."""

BEAT: Final = b"beat"


class Answer(NamedTuple):
    """The event that answers a command; `is_repeat` = the command had been answered before.

    A repeat has the fields of the first answer if that was seen here, else it is CommandRepeated.
    """

    control: Control
    body: Body
    is_repeat: bool


class Session:
    """An open session, silent for `lease_s` at most, that beats every `beat_s`; threads share it.

    Attributes:
        number: the position of its SessionOpened.
        is_expired: whether it has ended, or is of no more use.
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
    ) -> None:
        self.number = number
        self.is_expired = False
        self._channel = channel
        self._settings = settings
        self._clock = clock
        self._next_n = 1
        self._answered_n = 0
        # By number, until when (monotonic) somebody waits for the answer.
        self._outstanding: dict[int, tuple[float, Awaited]] = {}
        self._unanswered: dict[int, Awaited] = {}
        # Taken by itself: a Condition is entered in Python, where Ctrl-C may leave it locked.
        self._turn = Lock()
        self._room = Condition(self._turn)
        self._later: deque[SessionCommand] = deque()
        self.open_txns: set[int] = set()
        self._silence = Silence(lease_s)
        self._silent = Signal()
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
    ) -> Answer:
        """Return the answer to a command, which is numbered here; refusals are answers too.

        Its session and number are appended to `asked` before it is sent: a caller that Ctrl-C
        interrupts can still ask for its outcome.

        Raises OutcomeUnknownError if none comes in time, or the tail ends first. Nothing was sent
        where it raises LimitExceededError, as too many others are unanswered, or LogError, as the
        tail had ended.
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
        """Tell whether it is of this process, and not of one that it was forked from."""
        return self._channel.is_own

    @property
    def can_ask(self) -> bool:
        """Tell whether this thread can wait for an answer: see `Tail.busy`."""
        return get_ident() not in self._channel.tail.busy

    @property
    def endings(self) -> Endings:
        """What ended open txns of this process."""
        return self._channel.tail.endings

    @property
    def is_open(self) -> bool:
        """Tell whether its txns may be open, as far as this process knows."""
        return self.is_own and not self.is_expired and not self._channel.is_closed

    def hear(self, position: int) -> None:
        """Wait a while for what happened up to a position that a reader has seen."""
        self._channel.tail.hear(position)

    def why_silent(self) -> str:
        """Return what this process knows of how its session came to expire, and what helps."""
        return self._silence.told()

    def ask_later(self, command: SessionCommand) -> None:
        """Have the thread that beats ask this after one of its beats; nobody hears the answer."""
        self._later.append(command)

    def _ask(
        self, command: SessionCommand, timeout_s: float | None, asked: list[Asker] | None
    ) -> Answer:
        timeout_s = self._settings.timeout_s if timeout_s is None else timeout_s
        times = Times(self._settings.attempt_s, monotonic() + timeout_s)
        n, awaited = self._number(times)
        event: Event | None = None
        self._silence.note_sign()
        try:
            if asked is not None:
                asked.append((self.number, n))
            numbered = command._replace(
                session=self.number, n=n, not_after=times.not_after(self._clock)
            )
            event = exchange(self._channel, numbered, awaited, times)
        finally:
            self._settle(n, None if event is not None else awaited)
        return self._answer(event)

    def late_answer(self, n: int) -> Event | None:
        """Return the answer to a command that had none in time, if it was seen since."""
        awaited = self._unanswered.get(n)
        return awaited.wait(0) if awaited is not None else None

    def close(self) -> None:
        """End the session, as far as the ledger can be told so within a short time."""
        self._silent.set()
        try:
            if not self.is_expired:
                # If it cannot be told, its lease ends it: it is silent from now on.
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
                # Late answers make room too, but wake nobody: they are looked for now and then.
                self._room.wait(min(times.attempt_s, left_s))
            n = self._next_n
            awaited = self._channel.tail.expect((self.number, n))
            self._next_n += 1
            self._outstanding[n] = times.deadline_s, awaited
        return n, awaited

    def _no_room(self) -> LimitExceededError:
        if not self._outstanding:
            # With nothing on its way no answer will make room: a fresh session has to.
            self._expire()
        return LimitExceededError(
            f"{WINDOW} commands of session {self.number} have no answer, which is as many as may "
            "be under way. Nothing was sent; see whether broker and sequencer run, then try again",
            reason=Reason.LIMIT_EXCEEDED,
        )

    def _has_room(self) -> bool:
        """Tell whether the ledger will take the next number: see `ledger.core.state.sessions`."""
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
        """Make the room of those who were interrupted before they could."""
        now_s = monotonic()
        while self._outstanding:
            n = self._oldest()
            deadline_s, awaited = self._outstanding[n]
            if deadline_s >= now_s:
                return
            del self._outstanding[n]
            self._unanswered[n] = awaited

    def _settle(self, n: int, unanswered: Awaited | None) -> None:
        """Make room; an answer that may still come is listened for while it may be asked about."""
        with self._turn:
            # It is gone already where it was overdue and others needed the room.
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

    def _answer(self, event: Event) -> Answer:
        control, body = event
        match body:
            case CommandRefused(reason=Reason.SESSION_EXPIRED):
                self._expire()
                body = body._replace(message=f"{body.message}. {self._silence.told()}")
            case CommandRepeated():
                return Answer(*(self._seen_at(body.answered) or event), is_repeat=True)
            case _:
                pass
        return Answer(control, body, is_repeat=False)

    def _expire(self) -> None:
        self.is_expired = True
        self._silent.set()

    def _ask_what_is_left(self, beat_s: float) -> None:
        """Ask what was left for later, but keep no heartbeat waiting for longer than one beat."""
        ends_s = monotonic() + beat_s
        with suppress(LedgerError):
            while self._later and (left_s := ends_s - monotonic()) > 0:
                self.ask(self._later.popleft(), left_s)

    def _seen_at(self, position: int) -> Event | None:
        """Return the late answer that stands at a position, if it was seen."""
        with self._turn:
            late = [awaited.wait(0) for awaited in self._unanswered.values()]
        return next((each for each in late if each and each.control.position == position), None)

    def _beat(self, beat_s: float) -> None:
        key, is_told = str(self.number).encode(), False
        # Ctrl-C may keep a close from coming to its session, and then nobody silences that.
        while not self._silent.wait(beat_s) and not self._channel.is_closed:
            try:
                # Of a beat that the broker refused the next one learns.
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


def tell(session: int, error: Exception) -> None:
    """Write a line of log about a beat that could not be sent."""
    import structlog  # noqa: PLC0415 - seldom needed, and a client is to load little

    log_lines = structlog.get_logger("lakeledger.session")
    log_lines.warning("no beat", session=session, error=type(error).__name__, why=str(error))
