"""Carrying out a trim: the event, the mark of it, and then the records leave the log.

A trim that is interrupted leaves a log that readers understand. Without the mark all records are
there, and until they are gone the mark does not count. The same trim again finishes it. Once the
records are gone, the leader says so in the log, and followers give up what only those needed.
"""

from collections.abc import Callable

from ledger.client import Ledger
from ledger.errors import TrimRefusedError
from ledger.log.port import Log, Topic
from ledger.log.trimmed import TrimMark, is_continued, write_trim_mark
from ledger.trimming.survey import TrimPlan

Remove = Callable[[int], None]
"""Removes the records of the events topic below an offset."""


def carry_out(ledger: Ledger, log: Log, plan: TrimPlan, remove: Remove, reason: str) -> TrimMark:
    """Trim a log as planned, and return the mark.

    Raises LogHeldError while an open txn needs the events, TrimRefusedError if the log lost the
    place of the trim since it was planned, and as every command. If the mark or the removal fails,
    the same trim again finishes it.
    """
    mark = plan.mark
    receipt = ledger.trim_log(
        mark.below, archive=mark.archive, image=mark.image, digest=plan.digest, reason=reason
    )
    mark = mark._replace(position=receipt.position)
    if not is_continued(log, mark):
        raise cut_since(mark)
    write_trim_mark(log, mark.created.domain, mark)
    # A copy restored meanwhile has another topic, in which the mark does not count.
    if log.topic_id(Topic.EVENTS) != mark.topic:
        raise cut_since(mark)
    remove(mark.offset)
    return mark


def cut_since(mark: TrimMark) -> TrimRefusedError:
    """Return the error for a log that lost the place of a trim since the trim was planned."""
    return TrimRefusedError(
        f"the log does not continue at position {mark.below} as it did when this trim was planned: "
        "it lost its end and was cut, or a copy was restored. No record was removed. Plan the trim "
        "again"
    )
