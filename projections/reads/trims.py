"""The event of a trim in words: when, by which user and program, and why."""

from typing import NamedTuple

from ledger.reads.port import Reads


class TrimTold(NamedTuple):
    """The event of a trim: its time in milliseconds, the user and program, and the reason."""

    at: int
    by: str
    reason: str


def trim_told(reads: Reads, position: int) -> TrimTold | None:
    """Return the event at a position, None while no row shows it."""
    events = reads.history(position - 1, 1)
    if not events or events[0].position != position:
        return None
    event = events[0]
    session = reads.session(event.session)
    by = "" if session is None else f"{session.user}@{session.host} {session.application}".strip()
    return TrimTold(event.at, by, event.message)
