"""The exchange: a command goes out until its answer comes in, or until time is up."""

from time import monotonic
from typing import NamedTuple

from ledger.channel import Outbox
from ledger.clock import Clock
from ledger.core.commands import OpenSession, SessionCommand
from ledger.core.events import Event
from ledger.errors import LogUnavailableError, OutcomeUnknownError
from ledger.log.codec import encode_command
from ledger.tail import Awaited


class Times(NamedTuple):
    """When a call sends again and when it gives up; `deadline_s` is monotonic."""

    attempt_s: float
    deadline_s: float

    def left_s(self) -> float:
        """Return how long there is still to wait; not above 0 when it is over."""
        return self.deadline_s - monotonic()

    def not_after(self, clock: Clock) -> int:
        """Return until when the command may be executed, in milliseconds: not after giving up."""
        return clock.now_ms() + round(self.left_s() * 1000)


def exchange(
    commands: Outbox, command: OpenSession | SessionCommand, awaited: Awaited, times: Times
) -> Event:
    """Send a command, again and again under the same number, and return its answer.

    Raises OutcomeUnknownError, with what was wrong with the broker as its cause if anything was.
    """
    key, framed = str(command.session).encode(), encode_command(command)
    failure = commands.send(key, framed)
    while (event := awaited.wait(min(times.attempt_s, times.left_s()))) is None:
        if times.left_s() <= 0:
            raise unanswered(command, failure) from failure
        failure = commands.send(key, framed) or failure
    return event


def unanswered(
    command: OpenSession | SessionCommand, failure: LogUnavailableError | None
) -> OutcomeUnknownError:
    """Return the error for a command whose time is up."""
    return OutcomeUnknownError(
        f"{type(command).__name__} was not answered in time, so nobody knows whether it was "
        f"executed{f' ({failure})' if failure else ''}. See whether broker and sequencer run, then "
        f"ask ledger.outcome({command.session}, {command.n})",
        session=command.session,
        n=command.n,
    )
