"""Verify: read a whole events topic as every reader does, and say what is in it.

It applies the accept rule, checks the chain record by record, and folds the events, so that a log
which passes is one that sequencers and followers can read to its end.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from ledger.checkpoint import digest
from ledger.core.acceptance import LogHead, Verdict
from ledger.core.evolve import evolve
from ledger.core.state import DomainState
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, Topic

READ_MAX = 5_000
PATIENCE_S = 10.0


class Verified(NamedTuple):
    """What a log holds: the head of what counts, what was dropped and why, events by type."""

    head: LogHead
    records: int
    dropped: Counter[Verdict]
    events: Counter[str]
    digest: str


def verify(log: Log, progress: Callable[[int, int], None] = lambda _done, _end: None) -> Verified:
    """Return what the log holds up to its end as it is now.

    `progress` is told offsets read and the end. Raises LogDamagedError at the first record no
    sequencer can have written, with its position.
    """
    start, end = log.ends(Topic.EVENTS)
    acceptor, state = Acceptor(LogHead()), DomainState()
    events: Counter[str] = Counter()
    if start != 0:
        raise LogDamagedError(1, f"the first record left is at offset {start}, history is gone")
    reader = log.reader(Topic.EVENTS, start)
    try:
        while reader.next_offset() < end:
            records = reader.read(READ_MAX, PATIENCE_S)
            if not records:
                raise LogDamagedError(
                    acceptor.head.position + 1,
                    f"nothing can be read from offset {reader.next_offset()}, the end is {end}",
                )
            for record in records:
                event = acceptor.take(record.value)
                if event is not None:
                    evolve(state, event)
                    events[type(event.body).__name__] += 1
            progress(reader.next_offset(), end)
    finally:
        reader.close()
    return Verified(acceptor.head, end, acceptor.dropped, events, digest(state, acceptor.head))
