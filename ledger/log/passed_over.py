"""Records that a later cut of the log passes over, because no sequencer wrote them.

A stray or damaged record stops every reader. Only then the rest of the log is searched for a cut
that names the record, so a sound log costs nothing.
"""

from collections.abc import Iterator

from ledger.core.acceptance import RecordKind
from ledger.core.events.events import LogCut
from ledger.errors import IncompatibleError
from ledger.log.port import Log, Topic, records_between
from ledger.log.wire.codec import UnreadableError, decode_event, record_kind


def is_passed_over(log: Log, offset: int) -> bool:
    """Tell whether a later cut passes over the record at an offset.

    Raises LogUnavailableError if the log cannot be read to its end.
    """
    return any(
        each.offset <= offset < each.offset + each.records
        for cut in cuts_behind(log, offset)
        for each in cut.passed
    )


def cuts_behind(log: Log, offset: int) -> Iterator[LogCut]:
    """Yield the cuts in the records after an offset, whether they count or not."""
    end = log.ends(Topic.EVENTS)[1]
    for record in records_between(log, Topic.EVENTS, offset + 1, end):
        if record_kind(record.value) is RecordKind.LOG_CUT:
            yield from cut_in(record.value)


def cut_in(framed: bytes) -> Iterator[LogCut]:
    """Yield the cut in a record, or nothing if its bytes are damaged."""
    try:
        body = decode_event(framed).body
    except (UnreadableError, IncompatibleError):
        return
    if isinstance(body, LogCut):
        yield body
