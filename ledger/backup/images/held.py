"""An image beside a log: whether the log still holds the events that the rows end with.

A log that lost its end and was cut has others in their place, and no reader can go on from the
image. The backup of such an image may be the last copy of what was lost.
"""

from contextlib import closing

from ledger.backup.images.manifest import ImageManifest
from ledger.backup.images.reading import checkpoint_of
from ledger.backup.place import BackupPlace
from ledger.core.acceptance import RecordKind
from ledger.core.events.events import Control
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.passed_over import cuts_behind
from ledger.log.port import Log, Topic, records_between
from ledger.log.replay import read_batch
from ledger.log.wire.codec import UnreadableError, read_control


def lost_position(log: Log, place: BackupPlace, image: ImageManifest, section: str) -> int | None:
    """Return the position of an event of a section that the log has lost, None if it has all.

    A record may still be there, in front of a cut that leaves it out, and a claim holds no chain.
    Then the log is judged as the reader of the image will judge it.
    """
    found = image.sections[section]
    checkpoint = found.checkpoint
    is_certain = not any(cuts_behind(log, checkpoint.offset - 1))
    for position, chain, offset in (
        (found.position, found.chain, found.offset),
        (checkpoint.position, checkpoint.chain, checkpoint.offset),
    ):
        control, kind = record_at(log, offset - 1)
        if kind is RecordKind.FENCED:
            is_certain = False
        elif control is None or (control.position, control.chain) != (position, chain):
            return position
    if is_certain:
        return None
    acceptor = Acceptor(checkpoint_of(place, image, section).head)
    batches, end = BatchAcceptor(log, acceptor, checkpoint.offset), log.ends(Topic.EVENTS)[1]
    is_met = acceptor.head.chain == found.chain
    try:
        with closing(batches.open()) as reader:
            while reader.next_offset() < end:
                records = read_batch(log, reader, end, acceptor.head.position)
                for _ in batches.controls(records):
                    is_met = is_met or acceptor.head.chain == found.chain
    except LogDamagedError:
        return checkpoint.position
    return None if is_met else found.position


def record_at(log: Log, offset: int) -> tuple[Control | None, RecordKind | None]:
    """Return what a record holds in front of its body; None twice if it is not there."""
    first, end = log.ends(Topic.EVENTS)
    if not first <= offset < end:
        return None, None
    record = next(records_between(log, Topic.EVENTS, offset, offset + 1), None)
    try:
        return read_control(b"" if record is None else record.value)
    except UnreadableError:
        return None, None
