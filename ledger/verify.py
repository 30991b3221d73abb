"""Verify: read a whole events topic as every reader does, and say what is in it.

It applies the accept rule, checks the chain record by record, and folds the events, so that a log
which passes is one that sequencers and followers can read to its end.
"""

from collections import Counter
from typing import NamedTuple

from ledger.checkpoint import digest
from ledger.core.acceptance import LogHead, Verdict
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.log.port import Log
from ledger.replay import Progress, Replay


class Verified(NamedTuple):
    """What a log holds: the head of what counts, what was dropped and why, events by type."""

    head: LogHead
    records: int
    dropped: Counter[Verdict]
    events: Counter[str]
    digest: str


def verify(log: Log, progress: Progress = lambda _done, _end: None) -> Verified:
    """Return what the log holds up to its end as it is now.

    `progress` is told offsets read and the end. Raises LogDamagedError at the first record no
    sequencer can have written, with its position, LogUnavailableError if the broker is away.
    """
    replay, state = Replay(log, progress), DomainState()
    events: Counter[str] = Counter()
    for event in replay:
        evolve(state, event)
        events[type(event.body).__name__] += 1
    head = replay.acceptor.head
    return Verified(head, replay.end, replay.acceptor.dropped, events, digest(state, head))
