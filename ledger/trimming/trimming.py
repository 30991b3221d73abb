"""Carrying out a trim: the event, the mark of it, and then the records leave the log.

A trim that is interrupted leaves a log that readers understand. Without the mark all records are
there, and until they are gone the mark does not count. The same trim again finishes it. Once the
records are gone, the leader says so in the log, and followers give up what only those needed.
"""

from collections.abc import Callable
from time import monotonic

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.errors import TrimRefusedError
from ledger.log.consumers import REMOVES_S, registered
from ledger.log.port import Log, Topic
from ledger.log.trimmed import TrimMark, is_continued, write_trim_mark
from ledger.trimming.survey import TrimPlan, check_consumers

Remove = Callable[[int], None]
"""Removes the records of the events topic below an offset."""


def carry_out(ledger: Ledger, log: Log, plan: TrimPlan, remove: Remove, reason: str) -> TrimMark:
    """Trim a log as planned, and return the mark.

    Raises LogHeldError while an open txn needs the events, TrimRefusedError if the log lost the
    place of the trim since it was planned, or a consumer needs the events by now, and as every
    command. If the mark or the removal fails, the same trim again finishes it.
    """
    mark = plan.mark
    receipt = ledger.trim_log(
        mark.below, archive=mark.archive, image=mark.image, digest=plan.digest, reason=reason
    )
    mark = mark._replace(position=receipt.position)
    if not is_continued(log, mark):
        raise cut_since(mark)
    marked_s = monotonic()
    write_trim_mark(log, mark.created.domain, mark)
    # A copy restored meanwhile has another topic, in which the mark does not count.
    if log.topic_id(Topic.EVENTS) != mark.topic:
        raise cut_since(mark)
    check_free(log, mark, marked_s)
    remove(mark.offset)
    return mark


def check_free(log: Log, mark: TrimMark, marked_s: float) -> None:
    """Refuse a marked trim of events that a consumer needs by now, or that took too long.

    The mark is there before the consumers are read, and a pin is there before it looks for marks:
    so one of both finds the other. A pin waits no longer than `REMOVES_S` for a trim that it found.
    """
    domain = mark.created.domain
    check_consumers(registered(log, domain), mark.below, SystemClock().now_ms())
    if monotonic() - marked_s > REMOVES_S / 2:
        raise TrimRefusedError(
            "the broker took so long to answer that a pin may have been set meanwhile. No record "
            "was removed. Plan the trim again"
        )


def cut_since(mark: TrimMark) -> TrimRefusedError:
    """Return the error for a log that lost the place of a trim since the trim was planned."""
    return TrimRefusedError(
        f"the log does not continue at position {mark.below} as it did when this trim was planned: "
        "it lost its end and was cut, or a copy was restored. No record was removed. Plan the trim "
        "again"
    )
