"""A trimmed log for a survey: with the events in its backup, also if the mark of the trim is lost.

Marks lie in the catalogs topic, and that may be lost, or not be copied with the events. A backup of
the whole ledger holds the first record that the log still has, and so the head in front of it.
"""

from contextlib import closing
from typing import NamedTuple

from ledger.backup.contents import manifest_in, parts
from ledger.backup.errors import BackupForeignError
from ledger.backup.joined import JoinedLog, joined_log
from ledger.backup.place import BackupPlace
from ledger.core.acceptance import LogHead
from ledger.core.events.events import LedgerCreated
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor, event_of
from ledger.log.port import PATIENCE_S, Log, Topic
from ledger.log.trimmed import TrimMark


class WholeLog(NamedTuple):
    """A log with all its events, the backup to compare it with, and a mark that it lacks."""

    log: Log
    backup: BackupPlace | None
    lost_mark: TrimMark | None = None


def whole_log(log: Log, backup: BackupPlace | None) -> WholeLog:
    """Return a log with the events that a trim took from it.

    Raises LogDamagedError if its beginning is gone, and neither a mark nor a backup has it, and as
    `joined_log` and `mark_from`.
    """
    try:
        whole = joined_log(log, None if backup is None else backup.path)
    except LogDamagedError:
        first, end = log.ends(Topic.EVENTS)
        if backup is None or not first < end:
            raise
        mark = mark_from(log, backup, first)
        return WholeLog(JoinedLog(log, backup, mark), backup, mark)
    return WholeLog(whole, whole.place if isinstance(whole, JoinedLog) else backup)


def mark_from(log: Log, place: BackupPlace, first: int) -> TrimMark:
    """Return the mark of the trim that left the record at `first` as the first one of a log.

    Raises BackupForeignError if the backup does not hold that record, and as `parts`.
    """
    with closing(log.reader(Topic.EVENTS, first)) as reader:
        wanted = [record.value for record in reader.read(1, PATIENCE_S)]
    acceptor, created = Acceptor(LogHead()), None
    for part in parts(place, manifest_in(place)):
        for record in part.records:
            if (record.position, record.chain) == (acceptor.head.position, acceptor.head.chain):
                continue
            head = acceptor.head.copy()
            control = acceptor.take_control(record.value)
            assert control is not None, "the backup was judged by the same rule"
            if created is None:
                body = event_of(control, record.value).body
                created = body if isinstance(body, LedgerCreated) else None
            if [record.value] == wanted and created is not None:
                topic, below = log.topic_id(Topic.EVENTS), control.position
                return TrimMark(topic, below, first, head, created, place.path, below, 0)
    raise BackupForeignError(
        f"the backup in {place.path} does not hold the first record of the log, at offset {first}: "
        "it is of another ledger, or ends before. Name the backup from which the log was trimmed"
    )
