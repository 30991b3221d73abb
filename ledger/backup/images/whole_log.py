"""All events of a ledger, whether or not its log was trimmed: a backup holds those that left."""

from collections.abc import Iterator

from ledger.backup.contents import manifest_in, parts
from ledger.backup.errors import BackupForeignError
from ledger.backup.images.starting import OFF, UNUSABLE, StartImages, unusable
from ledger.backup.manifest import Manifest
from ledger.backup.place import BackupPlace, open_place
from ledger.core.acceptance import LogHead
from ledger.core.events.events import Event
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, Topic
from ledger.log.replay import Replay
from ledger.log.trimmed import LogStart, TrimMark, start_of


def whole_log(log: Log, images: StartImages, domain: int = 0) -> Iterator[Event]:
    """Yield the events of a ledger from the first one to the present end of its log.

    Those that a trim took from the log come from the backup in which `images` finds its images.
    Raises LogTrimmedError if that backup cannot be read or does not fit, and as `Replay`.
    """
    mark = start_of(log, domain).mark
    if mark is None or images.path == OFF:
        yield from Replay(log)
        return
    acceptor = Acceptor(LogHead())
    try:
        place = open_place(images.path or mark.archive)
        archive = fitting(place, log, mark)
        yield from archived(place, archive, acceptor)
    except UNUSABLE as problem:
        raise unusable(mark, problem) from problem
    yield from Replay(log, begun=LogStart(archive.reached.counted_end, acceptor.head, mark))


def archived(place: BackupPlace, archive: Manifest, acceptor: Acceptor) -> Iterator[Event]:
    """Yield the events of a backup, and move an acceptor past them; raises as `parts`."""
    head = acceptor.head
    for part in parts(place, archive):
        for record in part.records:
            # Other records do not count, and a later cut may pass over them as unreadable.
            if (record.position, record.chain) != (head.position, head.chain):
                event = acceptor.take(record.value)
                assert event is not None, "the backup was judged by the same rule"
                yield event


def fitting(place: BackupPlace, log: Log, mark: TrimMark) -> Manifest:
    """Return the manifest of a backup that a trimmed log continues.

    Raises BackupForeignError for a backup of another log, or one that ends before the log begins.
    """
    archive = manifest_in(place)
    ends = archive.reached.head.position
    if (archive.ledger, archive.events_topic) != (
        mark.created.ledger,
        log.topic_id(Topic.EVENTS),
    ) or ends < mark.head.position:
        raise BackupForeignError(
            f"the backup in {place.path} is of ledger {archive.ledger}, events topic "
            f"{archive.events_topic}, and ends at position {ends}. The log is of ledger "
            f"{mark.created.ledger}, topic {mark.topic}, and begins at position {mark.below}"
        )
    return archive
