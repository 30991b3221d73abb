"""The survey before a trim: the place in the log, the archive, the image, and all that holds it.

Nothing is changed here. Each precondition that fails is a refusal of its own, with what helps.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ledger.backup.contents import manifest_in, parts
from ledger.backup.images.held import lost_position
from ledger.backup.images.manifest import ImageManifest
from ledger.backup.images.reading import newest_image, verified
from ledger.backup.place import BackupPlace
from ledger.clock import Clock, SystemClock
from ledger.core.acceptance import LogHead
from ledger.core.events.events import LedgerCreated
from ledger.core.evolve.evolve import evolve
from ledger.errors import NothingToTrimError, TrimRefusedError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import read_newest, read_newest_head
from ledger.log.consumers import PIN, UNREADABLE, Consumer, behind, registered
from ledger.log.port import Log, Topic
from ledger.log.replay import Progress, Replay, read_batch
from ledger.log.trimmed import TrimMark, start_of
from ledger.machine.growth import offset_since
from ledger.session.tail import read_genesis

GENESIS_S: Final = 10.0


class TrimPlan(NamedTuple):
    """A trim that can be made: its mark, without the position of its event, and what it frees.

    `digest` is that of the image, `records` the number of records that leave the log.
    """

    mark: TrimMark
    digest: bytes
    records: int


def plan(
    log: Log,
    place: BackupPlace,
    below: int,
    progress: Progress = lambda _done, _end: None,
    clock: Clock | None = None,
) -> TrimPlan:
    """Return the trim below a position.

    Raises TrimRefusedError for each precondition that does not hold, and as the readers of log and
    backup.
    """
    created = read_genesis(log, GENESIS_S)
    begun = start_of(log, created.domain)
    if below <= begun.head.position + 1:
        raise NothingToTrimError(
            f"the log begins at position {begun.head.position + 1}, so there is nothing below "
            f"{below} to trim"
        )
    check_consumers(registered(log, created.domain), below, (clock or SystemClock()).now_ms())
    check_checkpoint(log, created.domain, below)
    check_open(log, created.domain, below)
    head, offset = found_in(log, below, progress)
    check_archive(place, created, head, below, progress)
    image = checked_image(place, created, below, log.topic_id(Topic.EVENTS))
    check_held(log, place, image)
    mark = TrimMark(
        log.topic_id(Topic.EVENTS),
        below,
        offset,
        head,
        created,
        place.path,
        image.checkpoint,
        0,
        image.proofs,
    )
    return TrimPlan(mark, image.digest, offset - begun.offset)


def position_before(log: Log, at_ms: int) -> int:
    """Return the position of the first event that a trim by age keeps.

    It is that of a time or later, at which the broker took the event. The event of the newest state
    checkpoint and those after it stay however old they are: sequencers and clients begin there.
    Raises TrimRefusedError if there are older events, and that checkpoint keeps all of them.
    """
    begun, newest = start_of(log), read_newest_head(log, 0)
    end, acceptor = log.ends(Topic.EVENTS)[1], Acceptor(begun.head.copy())
    batches, found = BatchAcceptor(log, acceptor, begun.offset), begun.head.position
    wanted = offset_since(log, Topic.EVENTS, at_ms)
    for _, offset, position in heads_from(log, batches, end, lambda _done, _end: None):
        found = position
        if offset >= wanted:
            break
    checkpoint, first = 0 if newest is None else newest[0].position, begun.head.position + 1
    if checkpoint <= first < found:
        raise checkpoint_too_old(checkpoint, found)
    return min(found, checkpoint)


def check_consumers(consumers: Sequence[Consumer] | None, below: int, now_ms: int) -> None:
    """Refuse a trim of events that a registered consumer has not read, or that a pin keeps."""
    if consumers is None:
        raise TrimRefusedError(
            "the ledger has no topic of consumers, so it is not known which processes still read "
            "old events. Create it with lakeledger init, and start the ledger's processes again"
        )
    slow = list(behind(consumers, below, now_ms))
    if not slow:
        return
    first = min(slow, key=lambda each: each.position)
    if first.version == UNREADABLE:
        raise TrimRefusedError(
            f"the record of {first.role} {first.name} among the consumers cannot be read by this "
            "version, so it is not known which events it needs. Trim with the version of "
            "LakeLedger that wrote it, or forget one that is gone for good with: lakeledger "
            f"consumers forget {first.role} {first.name}"
        )
    if first.role == PIN:
        raise TrimRefusedError(
            f"the pin {first.name} keeps the events from position {first.position} on. Trim below "
            f"that position, or remove the pin with: lakeledger log unpin {first.name}"
        )
    raise TrimRefusedError(
        f"{first.role} {first.name} on {first.host} would begin anew at position {first.position}, "
        f"and {len(slow)} in all need events below {below}. Let them go on, or forget one that is "
        f"gone for good with: lakeledger consumers forget {first.role} {first.name}"
    )


def check_checkpoint(log: Log, domain: int, below: int) -> None:
    """Refuse a trim above the newest state checkpoint, from which sequencers and clients begin."""
    newest = read_newest_head(log, domain)
    position = 0 if newest is None else newest[0].position
    if position < below:
        raise checkpoint_too_old(position, below)


def checkpoint_too_old(position: int, below: int) -> TrimRefusedError:
    """Return the error for a trim above the newest state checkpoint."""
    instead = f"; or trim below {position}" if position else ""
    return TrimRefusedError(
        f"the newest state checkpoint is of position {position}, and a sequencer that starts "
        f"would need events below {below}. A sequencer writes the next one by itself, at the "
        f"latest two hours after the next event by the setting sequencer.checkpoint_s{instead}"
    )


def check_open(log: Log, domain: int, below: int) -> None:
    """Refuse a trim of events that an open txn holds, as the leader will.

    The state is that of the newest checkpoint and the events behind it.
    """
    newest = read_newest(log, domain)
    if newest is None:
        return
    state = newest.state
    begun = start_of(log, domain)._replace(offset=newest.offset, head=newest.head)
    for event in Replay(log, begun=begun):
        evolve(state, event)
    oldest = min(state.txns.open.values(), key=lambda txn: txn.opened, default=None)
    if oldest is not None and oldest.opened < below:
        raise TrimRefusedError(
            f"txn {oldest.txn} is open since position {oldest.opened} and holds the events from "
            f"there on; end it, wait for its deadline, or trim below {oldest.opened}"
        )


def found_in(log: Log, below: int, progress: Progress) -> tuple[LogHead, int]:
    """Return the head in front of a position, and the offset of its record.

    Raises TrimRefusedError for a position that the log does not have: a cut left it out, or it is
    not there yet.
    """
    begun = start_of(log)
    batches = BatchAcceptor(log, Acceptor(begun.head), begun.offset)
    end = log.ends(Topic.EVENTS)[1]
    for head, offset, position in heads_from(log, batches, end, progress):
        if position == below:
            return head, offset
        if position > below:
            break
    raise TrimRefusedError(f"the log has no event at position {below}; choose a later position")


def heads_from(
    log: Log, batches: BatchAcceptor, end: int, progress: Progress
) -> Iterator[tuple[LogHead, int, int]]:
    """Yield each event of a log: the head in front of it, its offset, and its position."""
    reader = log.reader(Topic.EVENTS, batches.offset)
    try:
        while reader.next_offset() < end:
            records = read_batch(log, reader, end, batches.acceptor.head.position)
            before = batches.acceptor.head.copy()
            for record, control in batches.controls(records):
                if control is not None:
                    yield before, record.offset, control.position
                    before = batches.acceptor.head.copy()
            progress(reader.next_offset(), end)
    finally:
        reader.close()


def check_archive(
    place: BackupPlace, created: LedgerCreated, head: LogHead, below: int, progress: Progress
) -> None:
    """Read a whole backup, and compare it with the log in front of the first event that stays.

    Raises BackupError and BackupDamagedError for its files.
    """
    manifest = manifest_in(place)
    if manifest.ledger != created.ledger:
        raise TrimRefusedError(
            f"the backup in {place.path} is of ledger {manifest.ledger}, and this one is "
            f"{created.ledger}; name a backup of this ledger"
        )
    if manifest.reached.head.position < below:
        raise TrimRefusedError(
            f"the backup in {place.path} ends at position {manifest.reached.head.position}, below "
            f"{below}. Run lakeledger backup {place.path}, then trim again"
        )
    is_there = False
    for part in parts(place, manifest):
        for record in part.records:
            is_there = is_there or (record.position, record.chain) == (head.position, head.chain)
        progress(part.first + len(part.records), manifest.reached.records)
    if not is_there:
        raise TrimRefusedError(
            f"the backup in {place.path} has another event at position {head.position} than the "
            "log: it is of another history. Choose another path for the backup of this log"
        )


def check_held(log: Log, place: BackupPlace, image: ImageManifest) -> None:
    """Refuse a trim whose image is of events that the log has lost: no reader could begin so."""
    found = (lost_position(log, place, image, section) for section in image.sections)
    lost = next((position for position in found if position is not None), None)
    if lost is not None:
        raise TrimRefusedError(
            f"the newest image in {place.path} is of events that the log has lost: it has another "
            f"event at position {lost}. Choose another path, and run lakeledger backup with it "
            "on a host with rows"
        )


def checked_image(
    place: BackupPlace, created: LedgerCreated, below: int, topic: str
) -> ImageManifest:
    """Return the newest image of a backup, once all of it is read and compared."""
    image = newest_image(place)
    again = f"Run lakeledger backup {place.path} on a host with rows, then trim again"
    if image is None:
        raise TrimRefusedError(f"the backup in {place.path} has no image of rows. {again}")
    if (image.ledger, image.topic) != (created.ledger, topic):
        raise TrimRefusedError(
            f"the newest image in {place.path} is of another ledger or events topic. {again}"
        )
    if image.checkpoint < below:
        raise TrimRefusedError(
            f"readers that begin with the newest image in {place.path} need the events from "
            f"position {image.checkpoint} on, which lies below {below}. {again}"
        )
    verified(place, image)
    return image
