"""Mutants of trims: one precondition, or one step, left out or in the wrong order."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.backup import taking
from ledger.backup.images import starting
from ledger.backup.images.reading import newest_image, verified
from ledger.core.commands import TrimLog
from ledger.core.decide import trimming as deciding
from ledger.core.events.events import LogTrimmed
from ledger.core.state.domain import DomainState
from ledger.errors import TrimRefusedError
from ledger.log import log_end, trimmed
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import read_newest_head
from ledger.log.port import Log
from ledger.log.trimmed import TrimMark, write_trim_mark
from ledger.recovery import survey as surveying
from ledger.recovery.lost_mark import WholeLog
from ledger.trimming import survey, trimming
from ledger.trimming.survey import TrimPlan
from tests.isolation.mutants import Swap
from tests.simulation import clients

MARKS: Final = trimmed.trim_marks


def unasked(*_: Any) -> None:
    """Refuse nothing."""


def held_by_none(_state: DomainState, command: TrimLog) -> LogTrimmed:
    """Trim whatever is open."""
    return LogTrimmed(*command[3:])


def any_image(place: Any, *_: Any) -> Any:
    """Take the newest image, wherever its readers begin."""
    image = newest_image(place)
    if image is None:
        raise TrimRefusedError("no image")
    verified(place, image)
    return image


def decided_first(ledger: Any, plan: TrimPlan, reason: str) -> TrimMark:
    """Let a trim be decided, and return its mark."""
    mark = plan.mark
    receipt = ledger.trim_log(
        mark.below, archive=mark.archive, image=mark.image, digest=plan.digest, reason=reason
    )
    return mark._replace(position=receipt.position)


def removed_before_the_mark(
    ledger: Any, log: Log, plan: TrimPlan, remove: trimming.Remove, reason: str
) -> TrimMark:
    """Remove, then write the mark."""
    mark = decided_first(ledger, plan, reason)
    remove(mark.offset)
    write_trim_mark(log, 0, mark)
    return mark


def removed_before_the_event(
    ledger: Any, log: Log, plan: TrimPlan, remove: trimming.Remove, reason: str
) -> TrimMark:
    """Write the mark, remove, and let it be decided then."""
    write_trim_mark(log, 0, plan.mark)
    remove(plan.mark.offset)
    return decided_first(ledger, plan, reason)


def marked_one_too_far(
    ledger: Any, log: Log, plan: TrimPlan, remove: trimming.Remove, reason: str
) -> TrimMark:
    """Leave out the first record that is to stay."""
    mark = decided_first(ledger, plan, reason)
    mark = mark._replace(offset=mark.offset + 1)
    write_trim_mark(log, 0, mark)
    remove(mark.offset)
    return mark


def newest_mark(log: Log, domain: int = 0) -> dict[int, TrimMark]:
    """Return the newest mark alone, whether or not its records are gone."""
    newest = list(MARKS(log, domain).items())[-1:]
    return dict(newest)


def newest_checkpoint(log: Log, domain: int) -> Any:
    """Begin at the newest checkpoint, whatever was trimmed."""
    begun = trimmed.start_of(log, domain)
    return read_newest_head(log, domain) or (begun.head, begun.offset)


class UncheckedAcceptor(BatchAcceptor):
    """Goes on where a trimmed log begins, whichever log it was before."""

    def _check_trim(self) -> None:
        """Take it for granted."""


TRIM_SWAPS: Final[Mapping[str, Sequence[Swap]]] = {
    "trims pass consumers": [Swap(survey, "check_consumers", unasked)],
    "trims pass the newest checkpoint": [
        Swap(survey, "check_checkpoint", unasked),
        # Txns are open for long, and would mostly hide the fault before it is judged.
        Swap(survey, "check_open", unasked),
    ],
    "trims pass open txns": [
        Swap(survey, "check_open", unasked),
        Swap(deciding, "trim", held_by_none),
    ],
    "trims pass their image": [
        Swap(survey, "checked_image", any_image),
        Swap(survey, "check_open", unasked),
        Swap(deciding, "check_request", unasked),
    ],
    "images of lost events trimmed by": [Swap(survey, "check_held", unasked)],
    "neither archive nor image compared": [
        Swap(survey, "check_archive", unasked),
        Swap(survey, "check_held", unasked),
    ],
    "records removed before the mark": [Swap(trimming, "carry_out", removed_before_the_mark)],
    "records removed before the event": [Swap(trimming, "carry_out", removed_before_the_event)],
    "one record too many removed": [Swap(trimming, "carry_out", marked_one_too_far)],
    "the newest mark counts": [Swap(trimmed, "trim_marks", newest_mark)],
    "checkpoints in front of a trim count": [
        Swap(clients, "nearest_head", newest_checkpoint),
        Swap(log_end, "nearest_head", newest_checkpoint),
    ],
    "images not compared by who begins": [Swap(starting, "lost_position", unasked)],
    "new backups begin at the trim": [Swap(taking, "joined_log", lambda log, *_: log)],
    "surveys without what was trimmed": [Swap(surveying, "whole_log", WholeLog)],
}
