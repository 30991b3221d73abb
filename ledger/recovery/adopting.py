"""Adopting: events in another topic than the one they were recorded in are taken for the ledger.

A topic that was mirrored to another cluster, put back from a copy or made anew has another id, and
readers refuse it: it may have lost its end. Adopting it leaves the mark that a restore leaves,
after all that has seen more was compared. What the copy lacks has to be cut in the same run, so no
sequencer can lead in between.
"""

from ledger.errors import LogDamagedError
from ledger.log.checkpoints import Checkpoint
from ledger.log.port import Log, Topic
from ledger.log.restored import Restored, write_restored
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
            "its topic is not the one that it was recorded in, so readers would refuse it behind "
            "the cut too. lakeledger recover --adopt --cut takes it for the ledger, and cuts it",
        )
    if adopt and found.is_ahead and not cut:
        ahead = ", ".join(
            f"{witness.name} (position {witness.seen.position})"
            for witness, verdict in zip(found.witnesses, found.verdicts, strict=True)
            if verdict in LOST
        )
        raise LogDamagedError(
            found.head.position + 1,
            f"this copy of the log lacks what these have seen: {ahead}. lakeledger recover --adopt "
            "--cut takes it for the ledger, and lets it go on above all that was given",
        )


def adopt_topic(log: Log, found: Survey) -> None:
    """Take the topic of a survey for the ledger as it is.

    Checkpoints of before may name offsets of the other topic, so a new one is written first.
    """
    write_checkpoint(log, Checkpoint(found.state, found.head, found.end))
    mark_adopted(log, found, found.head.position)


def mark_adopted(log: Log, found: Survey, position: int) -> None:
    """Say that the topic of the events holds the ledger, which goes to a position."""
    created = found.created
    records = log.ends(Topic.EVENTS)[1]
    mark = Restored(
        created.ledger, log.topic_id(Topic.EVENTS), position, records, digest="", is_whole=True
    )
    write_restored(log, created.domain, mark)
