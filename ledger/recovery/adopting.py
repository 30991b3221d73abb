"""Adopting: accepts events in another topic than the one they were recorded in.

A topic that was mirrored to another cluster, put back from a copy or made anew has another id, and
readers refuse it: it may have lost its end. So they refuse a trimmed log that lost its mark.
Adopting it writes the mark of a restore, and the one of the trim, after a comparison with every
witness. If the copy lacks events, the same run cuts the log, so no sequencer can lead in between.
"""

from ledger.errors import LogDamagedError
from ledger.log.checkpoints import Checkpoint
from ledger.log.port import Log, Topic
from ledger.log.restored import Restored, write_restored
from ledger.log.trimmed import write_trim_mark
from ledger.recovery.cutting import write_checkpoint
from ledger.recovery.survey import Survey
from ledger.recovery.witnesses import LOST


def check_adoption(found: Survey, *, adopt: bool, cut: bool) -> None:
    """Raise LogDamagedError if a copy would be cut and not adopted, or adopted and not cut."""
    if not found.is_copy:
        return
    if cut and not adopt:
        raise LogDamagedError(
            1,
            "its topic is not the one it was recorded in, so readers would refuse it after the cut "
            "too. lakeledger recover --adopt --cut accepts it, and cuts it",
        )
    if adopt and found.is_ahead and not cut:
        ahead = ", ".join(
            f"{witness.name} (position {witness.seen.position})"
            for witness, verdict in zip(found.witnesses, found.verdicts, strict=True)
            if verdict in LOST
        )
        raise LogDamagedError(
            found.head.position + 1,
            f"this copy of the log lacks events that these have seen: {ahead}. lakeledger recover "
            "--adopt --cut accepts it, and lets it go on above all ids that were given",
        )


def adopt_topic(log: Log, found: Survey) -> None:
    """Accept the topic of a survey as it is.

    Former checkpoints may name offsets of the other topic, so a new one is written first.
    """
    write_checkpoint(log, Checkpoint(found.state, found.head, found.end))
    mark_adopted(log, found, found.head.position)


def mark_adopted(log: Log, found: Survey, position: int) -> None:
    """Mark the topic of the events as the ledger's, up to a position, and where it begins."""
    created = found.created
    if found.lost_mark is not None:
        write_trim_mark(log, created.domain, found.lost_mark)
    records = log.ends(Topic.EVENTS)[1]
    mark = Restored(
        created.ledger, log.topic_id(Topic.EVENTS), position, records, digest="", is_whole=True
    )
    write_restored(log, created.domain, mark)
