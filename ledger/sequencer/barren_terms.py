"""Barren terms: leaders that ended without a decision, and the command that they ended over."""

from collections.abc import Sequence

from ledger.core.commands import Command, OpenSession
from ledger.core.events.events import Body
from ledger.core.refusals import Reason, refuse

# After this many leaders in a row ended over a command, it is refused.
LEADERS_PER_COMMAND = 6


def ended_over(waiting_since: int, barren: Sequence[int]) -> int:
    """Return how many barren terms began while a command was already waiting.

    All times are the broker's, in milliseconds. A leader that ended without a waiting command does
    not count.
    """
    return sum(began >= waiting_since for began in barren)


def failed(command: Command, why: str) -> Body:
    """Return the refusal of a command that the ledger cannot decide."""
    nonce = command.nonce if isinstance(command, OpenSession) else b""
    return refuse(Reason.COMMAND_FAILED, why)._replace(nonce=nonce)
