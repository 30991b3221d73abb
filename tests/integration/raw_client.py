"""A raw client: numbers and appends commands by itself, and reads every event of the log.

Unlike the SDK it never beats, never sends again and hides nothing, so a test decides alone what a
ledger hears of a session and when.
"""

import secrets
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice
from types import TracebackType
from typing import Final, Self

from ledger.core.acceptance import LogHead
from ledger.core.commands import OpenSession, SessionCommand
from ledger.core.events.events import Event, Fenced, SessionOpened, TxnsExpired
from ledger.core.evolve.evolve import evolve
from ledger.core.limits import NONCE_BYTES
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, Topic
from ledger.log.wire.codec import encode_command

NEVER_MS: Final = 2**62
UNNUMBERED: Final = (0, 0, 0)
PATIENCE_S: Final = 60.0
READ_MAX: Final = 2_000
READ_WAIT_S: Final = 0.02


class RawClient:
    """Reads and asks one ledger; `state` and `acceptor` end behind the last event read.

    `numbers` are those of its last commands, by session; a later client may go on from there.
    `turn` is called whenever it waits: a sequencer of the same thread does its rounds there.
    """

    def __init__(self, log: Log, turn: Callable[[], object] = lambda: None) -> None:
        self.state, self.acceptor = DomainState(), Acceptor(LogHead())
        self.events: list[Event] = []
        self._log = log
        self._turn = turn
        self._reader = log.reader(Topic.EVENTS, 0)
        self._writer = log.writer(Topic.COMMANDS)
        self._heartbeats = log.writer(Topic.HEARTBEATS)
        self.numbers: Counter[int] = Counter()
        self._looked_at = 0
        self._held = ExitStack()
        for each in (self._reader, self._writer, self._heartbeats):
            self._held.callback(each.close)

    def open_session(self, lease_ms: int = 0) -> int:
        """Open a session, with the ledger's lease if none is named, and return its number."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        opening = OpenSession(0, 0, NEVER_MS, nonce, "raw", "host", "integration", lease_ms)
        self.append(encode_command(opening))
        return self.wait_for(
            lambda event: isinstance(event.body, SessionOpened) and event.body.nonce == nonce
        ).control.position

    def send(self, session: int, command: SessionCommand, not_after: int = NEVER_MS) -> int:
        """Append a command under the next number of its session, and return that number."""
        self.numbers[session] += 1
        n = self.numbers[session]
        numbered = command._replace(session=session, n=n, not_after=not_after)
        self.append(encode_command(numbered))
        return n

    def ask(self, session: int, command: SessionCommand, not_after: int = NEVER_MS) -> Event:
        asker = session, self.send(session, command, not_after)
        return self.wait_for(lambda event: (event.control.session, event.control.n) == asker)

    def beat(self, session: int) -> None:
        """Give a sign of life."""
        self._heartbeats.append(str(session).encode(), b"beat")
        self._heartbeats.check()

    def append(self, value: bytes) -> None:
        """Append bytes to the commands, whatever they are; `wait_for` sees that they arrive."""
        self._writer.append(b"", value)

    def flush(self) -> None:
        """Wait until every command appended is in the topic."""
        self._writer.flush(PATIENCE_S)

    def wait_for(self, is_wanted: Callable[[Event], bool]) -> Event:
        """Return the next wanted event behind the one returned last, reading as far as needed."""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            for event in islice(self.events, self._looked_at, None):
                self._looked_at += 1
                if is_wanted(event):
                    return event
            self._writer.check()
            self._turn()
            self.read()
        message = f"no such event within {PATIENCE_S:.0f} s, the last is {self.events[-1:]}"
        raise TimeoutError(message)

    def read(self) -> None:
        """Read and fold what is there, waiting a little if there is nothing."""
        for record in self._reader.read(READ_MAX, READ_WAIT_S):
            event = self.acceptor.take(record.value)
            if event is not None:
                evolve(self.state, event)
                self.events.append(event)

    def is_open(self, session: int) -> bool:
        """Tell whether a session is open as far as was read."""
        return self.state.sessions.by_number[session].is_open

    def leader(self) -> str:
        """Return the sequencer of the newest epoch that was read."""
        fences = (event.body for event in reversed(self.events))
        return next(body.sequencer for body in fences if isinstance(body, Fenced))

    def wait_for_expiry(self, session: int) -> None:
        """Wait until a session is ended because of its silence."""
        if session not in self.expired()[0]:
            self.wait_for(
                lambda event: isinstance(event.body, TxnsExpired) and session in event.body.sessions
            )

    def expired(self) -> tuple[list[int], list[tuple[int, str]]]:
        """Return the sessions that were ended, and the txns with the cause of each."""
        bodies = [event.body for event in self.events if isinstance(event.body, TxnsExpired)]
        sessions = [session for body in bodies for session in body.sessions]
        return sessions, [(end.txn, end.cause) for body in bodies for end in body.ends]

    def close(self) -> None:
        """Let go of the log."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
