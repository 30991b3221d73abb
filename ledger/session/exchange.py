"""The exchange: sends a command again until its answer comes, or until time is up."""

from copy import copy
from time import monotonic
from typing import Final, NamedTuple

from ledger.clock import Clock
from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    CommitTxn,
    OpenSession,
    SessionCommand,
    StageWrites,
)
from ledger.core.events.events import Event
from ledger.core.limits import COMMAND_BYTES_MAX
from ledger.core.refusals import Reason
from ledger.errors import (
    LimitExceededError,
    LogRefusedError,
    LogUnavailableError,
    OutcomeUnknownError,
)
from ledger.log.wire.codec import encode_command
from ledger.session.channel import Channel
from ledger.session.sizes import largest_share
from ledger.session.tail import Awaited

# A refusal by the broker does not wake the waiting thread: it looks for one this often.
LOOK_S: Final = 0.25


class Times(NamedTuple):
    """When a call sends again and when it gives up; `deadline_s` is monotonic."""

    attempt_s: float
    deadline_s: float

    def left_s(self) -> float:
        """Return the time left; 0 or less after the deadline."""
        return self.deadline_s - monotonic()

    def not_after(self, clock: Clock) -> int:
        """Return the last time, in milliseconds, at which the command may still be executed."""
        return clock.now_ms() + round(self.left_s() * 1000)


def exchange(
    channel: Channel, command: OpenSession | SessionCommand, awaited: Awaited, times: Times
) -> Event:
    """Send a command, again and again under the same number, and return its answer.

    Raises OutcomeUnknownError, with the known trouble as its cause, LogRefusedError if the broker
    refused all of the command's records, and LimitExceededError for a command that fits no record.
    """
    key, framed = str(command.session).encode(), encode_command(command)
    if len(framed) > COMMAND_BYTES_MAX:
        raise too_large(command, len(framed))
    attempts = Attempts(channel, key, framed)
    try:
        event = attempts.answer(awaited, times)
    except Exception as error:
        if isinstance(command, OpenSession):
            # An unknown session has done nothing: opening another one is always safe.
            raise
        # No answer can arrive any more, so the outcome is unknown, as after a time-out.
        raise unanswered(command, error) from error
    finally:
        channel.forget(framed)
    if attempts.denied is not None:
        raise copy(attempts.denied) from attempts.denied
    if event is None:
        trouble = attempts.trouble or channel.tail.trouble
        raise unanswered(command, trouble) from trouble
    return event


class Attempts:
    """The records of one command: the same each time, until an answer comes or cannot come.

    Attributes:
        trouble: what may have kept the answer away.
        denied: why no record was written; then the command is never executed.
    """

    def __init__(self, channel: Channel, key: bytes, framed: bytes) -> None:
        self.trouble: LogUnavailableError | None = None
        self.denied: LogRefusedError | None = None
        self._channel = channel
        self._key = key
        self._framed = framed
        self._sent = 0

    def answer(self, awaited: Awaited, times: Times) -> Event | None:
        """Return the answer, None if time is up or the broker refuses."""
        while True:
            self.trouble = self._channel.send(self._key, self._framed) or self.trouble
            self._sent += 1
            ends_s = monotonic() + min(times.attempt_s, times.left_s())
            while True:
                left_s = ends_s - monotonic()
                event = awaited.wait(min(LOOK_S, left_s))
                if event is not None or self._is_refused():
                    return event
                if left_s <= LOOK_S:
                    break
            if times.left_s() <= 0:
                return None

    def _is_refused(self) -> bool:
        """Return whether no answer can come: no record was written, or the tail cannot read."""
        unwritten, why = self._channel.fate(self._framed)
        self.trouble = why or self.trouble
        if isinstance(why, LogRefusedError) and unwritten >= self._sent:
            self.denied = why
            return True
        deaf = self._channel.tail.trouble
        if isinstance(deaf, LogRefusedError):
            self.trouble = deaf
            return True
        return False


def unanswered(
    command: OpenSession | SessionCommand, trouble: Exception | None
) -> OutcomeUnknownError:
    """Return the error for a command without an answer in time.

    A session has no number before it is open, so `ledger.outcome` cannot find it.
    """
    then = f"ask ledger.outcome({command.session}, {command.n})"
    if isinstance(command, OpenSession):
        then = (
            "repeat the call: only a session was requested, and a session that was opened expires "
            "by itself"
        )
    return OutcomeUnknownError(
        f"{type(command).__name__} was not answered in time, so it may or may not be executed"
        f"{f' ({trouble})' if trouble else ''}. Check that broker and sequencer run, then {then}",
        session=command.session,
        n=command.n,
        retry_unchanged=is_done_once(command),
    )


def is_done_once(command: OpenSession | SessionCommand) -> bool:
    """Return whether the ledger does this once, even if sent again under another number.

    A txn's repeated request gets the first result, and a staged chunk is recognized. A commit
    without a txn would commit twice, unless an application records progress in each of its tables.
    """
    match command:
        case OpenSession() | AllocateWriteIds() | StageWrites() | AbortTxn():
            return True
        case CommitTxn(txn=0):
            footprints = [write.footprint for write in command.tables]
            return all(footprint is not None and footprint.apps for footprint in footprints)
        case CommitTxn():
            return True
        case _:
            return False


def too_large(command: OpenSession | SessionCommand, size: int) -> LimitExceededError:
    """Return the error for a command that was not sent because of its size."""
    share = largest_share(command)
    most = f", most of it {share.what}, {share.size} bytes" if share.size else ""
    error = LimitExceededError(
        f"{type(command).__name__} has {size} bytes{most}; a record holds {COMMAND_BYTES_MAX}. "
        f"Nothing was sent: {share.remedy}",
        reason=Reason.LIMIT_EXCEEDED,
    )
    error.retry_unchanged = False  # Unlike other limits, this one never has room later.
    return error
