"""The sessions of a client: the open one, and a fresh one after it expires.

A command that belongs to no txn of the expired session is sent again in the fresh session. The
ledger refused it because the session had ended, so it was not executed. A session belongs to the
process that made it.
"""

import getpass
import secrets
import socket
import sys
from collections.abc import Callable
from pathlib import PurePath
from threading import Lock
from time import monotonic
from typing import Final, NamedTuple, NoReturn, Self

from ledger.clock import Clock
from ledger.config.settings import ClientSettings
from ledger.core.commands import OpenSession, SessionCommand
from ledger.core.events.events import CommandRefused, CommandRepeated, Event, SessionOpened
from ledger.core.limits import NONCE_BYTES
from ledger.core.refusals import Reason
from ledger.session.channel import Channel
from ledger.session.exchange import Times, exchange
from ledger.session.refusals import body_as
from ledger.session.session import ClientSession, CommandAnswer
from ledger.session.tail import closed

BEATS_PER_LEASE: Final = 3


class Labels(NamedTuple):
    """The labels of a client: shown with every txn, never interpreted."""

    user: str
    host: str
    application: str

    @classmethod
    def of_process(cls, application: str | None = None, user: str | None = None) -> Self:
        """Return the labels of this process, which may act for another `user`.

        Raises TypeError if `application` or `user` is not a text.
        """
        for name, given in (("application", application), ("user", user)):
            if not isinstance(given, str | None):
                raise TypeError(f"{name} must be a text, got {given!r}")
        try:
            user = user or getpass.getuser()
        except (KeyError, OSError):
            user = "unknown"
        labels = user, socket.gethostname(), application or PurePath(*sys.argv[:1]).name
        # A system name that is not UTF-8 holds half letters, which no record takes.
        return cls(*(label.encode(errors="backslashreplace").decode() for label in labels))


class ClientSessions:
    """The sessions of one client, one at a time; `lease_ms` is the ledger's. Threads may share it.

    A longer lease is for a process that cannot beat at times. Otherwise the process beats as often
    as with the ledger's lease: a leader that reaches the broker again waits only that long.

    A nonce names a session before it has a number; a test may choose how it is drawn. `ledger` is
    the id of the ledger, for traces.
    """

    def __init__(
        self,
        channel: Channel,
        labels: Labels,
        *,
        lease_ms: int,
        settings: ClientSettings,
        clock: Clock,
        ledger: str = "",
        draw_nonce: Callable[[], bytes] = lambda: secrets.token_bytes(NONCE_BYTES),
    ) -> None:
        self._channel = channel
        self._labels = labels
        self._lease_ms = lease_ms
        self._asked_ms = 0 if settings.lease_s is None else round(settings.lease_s * 1000)
        shortest_ms = min(lease_ms, self._asked_ms or lease_ms)
        self.beat_s = settings.beat_s or shortest_ms / 1000 / BEATS_PER_LEASE
        self._settings = settings
        self._clock = clock
        self._ledger = ledger
        self._draw_nonce = draw_nonce
        self._session: ClientSession | None = None
        self._is_closed = False
        self._opening = Lock()

    def current(self) -> ClientSession:
        """Return the open session; open one if necessary.

        Raises LimitExceededError, CommandTooLateError or OutcomeUnknownError; calling again is
        always safe. Raises LogError after `close`.
        """
        self._channel.check()
        with self._opening:
            self._check()
            if self._session is None or self._session.is_expired:
                self._session = self._open()
            return self._session

    def ask(self, command: SessionCommand) -> tuple[ClientSession, CommandAnswer]:
        """Return the answer to a command without a txn, and the session it was sent in.

        Raises as `Session.ask`.
        """
        session = self.current()
        answer = session.ask(command)
        match answer.body:
            case CommandRefused(reason=Reason.SESSION_EXPIRED):
                session = self.current()
                answer = session.ask(command)
            case _:
                pass
        return session, answer

    def late_answer(self, session: int, n: int) -> Event | None:
        """Return the late answer to a command of the open session, None if absent."""
        own = self._session
        return own.late_answer(n) if own is not None and own.number == session else None

    def open_txns(self) -> list[int]:
        """Return the txns of the open session that this process has not ended."""
        own = self._session
        return sorted(own.open_txns) if own is not None and own.is_open else []

    def close(self) -> None:
        """End the open session; a session that is just being opened ends with its lease."""
        # Set first: a thread that asks meanwhile would open a session that stays open.
        self._is_closed = True
        if not self._opening.acquire(timeout=self._settings.close_s):
            return
        session, self._session = self._session, None
        self._opening.release()
        if session is not None:
            session.close()

    def _check(self) -> None:
        if self._is_closed:
            raise closed()

    def _open(self) -> ClientSession:
        settings = self._settings
        times = Times(settings.attempt_s, monotonic() + settings.timeout_s)
        nonce = self._draw_nonce()
        command = OpenSession(
            0, 0, times.not_after(self._clock), nonce, *self._labels, self._asked_ms
        )
        awaited = self._channel.tail.expect_session(nonce)
        try:
            event = exchange(self._channel, command, awaited, times)
        finally:
            self._channel.tail.forget_session(nonce)
        # `close` does not wait for this thread: the session just opened ends with its lease.
        self._check()
        return ClientSession(
            self._channel,
            opened_number(event),
            lease_s=(self._asked_ms or self._lease_ms) / 1000,
            beat_s=self.beat_s,
            settings=settings,
            clock=self._clock,
            ledger=self._ledger,
        )


def opened_number(event: Event) -> int:
    """Return the session number in the answer to an OpenSession; raises a refusal."""
    if isinstance(event.body, CommandRepeated):
        return event.body.first
    body_as(SessionOpened, event)
    return event.control.position


class OfOneProcess:
    """An object that needs threads and connections of this process, so it cannot be pickled."""

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: in another process the object would have no session."""
        raise TypeError(
            f"{self!r} cannot be sent to another process: call Ledger.connect there, and begin "
            "the txns that the process commits there"
        )
