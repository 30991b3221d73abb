"""The pages about logs: that of the ledger, and the topics that ingests bring into tables.

The first one tells where the log begins and why, what a trim relies on, and what follows it.
"""

from typing import Final

from ledger.ingest.offsets import HOME, RecordedOffset, recorded_in
from ledger.log.consumers import PIN
from ledger.reads.port import Reads
from ledger.trimming.look import LastTrim, LogLook, TrimTold, trim_told
from projections.web.pages.page import ROWS, Fields, PageView

SHOWN_MAX: Final = 200
"""How many consumers the page has; those for which a trim waits first."""


def log(view: PageView) -> Fields:
    """Gather what the last look at the log saw; the rows have its last trim."""
    seen = view.beside.log
    look = seen.look
    return {
        "seen": seen,
        "look": look,
        "told": None if look is None else told_of(view.reads, look.trim, view.newest),
        **({} if look is None else followers_of(look)),
    }


def told_of(reads: Reads, trim: LastTrim | None, newest: int) -> TrimTold | None:
    """Return user, time and reason of a trim, None as long as the rows do not show it."""
    return None if trim is None or trim.position > newest else trim_told(reads, trim.position)


def followers_of(look: LogLook) -> Fields:
    """Return the consumers that read and the pins, each with the slowest first."""
    every = sorted(look.consumers or (), key=lambda consumer: consumer.position)
    return {
        "consumers": [consumer for consumer in every if consumer.role != PIN][:SHOWN_MAX],
        "pins": [consumer for consumer in every if consumer.role == PIN][:SHOWN_MAX],
        "slowest": look.slowest,
    }


def ingests(view: PageView) -> Fields:
    """Gather how far the partitions of all ingests are, as of their last commits."""
    homes = [row for row in view.reads.tables() if row.name == HOME]
    found = [each for home in homes for each in recorded_in(view.reads, home)]
    skip = view.asked.number_or_none("skip") or 0
    return {
        "lines": [(each, lag_of(each)) for each in found[skip : skip + ROWS]],
        "total": len(found),
        "lost": sum(each.note.lost for each in found),
        "next": view.here(skip=skip + ROWS) if len(found) > skip + ROWS else None,
        "first": view.here() if skip else None,
    }


def lag_of(offset: RecordedOffset) -> int | None:
    """Return how many records were not committed then, None if the end was not known."""
    return max(0, offset.note.end - offset.offset) if offset.note.end >= 0 else None
