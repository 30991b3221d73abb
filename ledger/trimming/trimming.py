"""Carrying out a trim: the event, the mark of it, and then the records leave the log.

A trim that is interrupted leaves a log that readers understand. Without the mark all records are
there; with the mark a reader begins behind it, whether or not the records before it are gone.
"""

from collections.abc import Callable

from ledger.client import Ledger
from ledger.log.port import Log, Topic
from ledger.log.trimmed import TrimMark, read_trim_mark, write_trim_mark
from ledger.trimming.survey import TrimPlan

Remove = Callable[[int], None]
"""Removes the records of the events topic below an offset."""


def carry_out(ledger: Ledger, log: Log, plan: TrimPlan, remove: Remove, reason: str) -> TrimMark:
    """Trim a log as planned, and return the mark.

    Raises LogHeldError while an open txn needs the events, and as every command. If the mark or the
    removal fails, the same trim again finishes it.
    """
    mark = plan.mark
    receipt = ledger.trim_log(
        mark.below, archive=mark.archive, image=mark.image, digest=plan.digest, reason=reason
    )
    mark = mark._replace(position=receipt.position)
    write_trim_mark(log, mark.created.domain, mark)
    remove(mark.offset)
    return mark


def finish(log: Log, remove: Remove, domain: int = 0) -> TrimMark | None:
    """Remove what an interrupted trim left, and return its mark; None if nothing was left."""
    mark = read_trim_mark(log, domain)
    if mark is None or log.ends(Topic.EVENTS)[0] >= mark.offset:
        return None
    remove(mark.offset)
    return mark
