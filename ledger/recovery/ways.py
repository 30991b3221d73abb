"""The ways on for a log that lost its end: what each of them gives up, and the best one first.

A cut keeps the log as it is, and gives up what only witnesses have seen. A restore keeps what a
backup holds, and gives up what the log has since. Rows of a host are no way: a log cannot be made
of them.
"""

from typing import Literal, NamedTuple

from ledger.recovery.survey import Survey
from ledger.recovery.witnesses import BACKUP, LOST


class Way(NamedTuple):
    """One way: the position to which the ledger has its events then, and what it gives up.

    `events` is the number of events that are known to be given up, `commits` the number of listed
    lost commits among them.
    """

    name: Literal["restore", "cut"]
    position: int
    events: int
    commits: int


def ways(found: Survey) -> list[Way]:
    """Return the ways on, the one that gives up least first; a cut is always one of them."""
    head, lost = found.head.position, [each for each in found.lost if each.status == "committed"]
    pairs = zip(found.witnesses, found.verdicts, strict=True)
    ahead = {witness.name: witness.seen.position for witness, told in pairs if told in LOST}
    kept = max((at for name, at in ahead.items() if name.startswith(BACKUP)), default=None)
    # A backup that tells of nothing new may end anywhere in the log.
    shared = head if kept is None or found.shared is None else found.shared
    # A witness may tell of an epoch alone.
    known = max([shared, *ahead.values()])
    cut = Way("cut", head, known - shared, len(lost))
    if kept is None:
        return [cut]
    later = sum(each.ended > kept for each in lost)
    restore = Way("restore", kept, known - kept + head - shared, later)
    # Where both give up as much, a cut is less work.
    return sorted([cut, restore], key=lambda way: (way.events, way.name))
