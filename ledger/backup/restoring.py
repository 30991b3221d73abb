"""Restoring: makes an events topic from a backup, compares both, and marks the topic as whole.

Every file of the backup is read and checked before anything is written. The records keep their
order and their bytes, so positions, chain and state are the same. An interrupted restore continues
after the last record that it wrote. Commands, heartbeats and checkpoints are not restored: the next
sequencer records that the commands topic is new, and readers make the rest from the events.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import islice
from threading import Event as Signal
from typing import Final, NamedTuple

from ledger.backup.contents import parts
from ledger.backup.errors import RestoreDifferError, RestoreRefusedError
from ledger.backup.manifest import NO_DIGEST, Manifest, next_digest
from ledger.backup.place import BackupPlace
from ledger.core.acceptance import LogHead
from ledger.errors import LogError, SettingsError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.port import READ_MAX, Log, Topic
from ledger.log.replay import read_batch
from ledger.log.restored import Restored, read_restored, write_restored
from ledger.session.tail import read_genesis

WRITE_S: Final = 60.0
GENESIS_S: Final = 10.0
# Each record is checked in the backup, written, and read back.
PASSES: Final = 3
# The topics that a restore writes: the events, and the mark that they are whole.
RESTORED: Final = frozenset({Topic.EVENTS, Topic.CATALOGS})

Progress = Callable[[int, int], None]


class RestoreOutcome(NamedTuple):
    """The result of a restore: records written now, and whether the topic is whole."""

    written: int
    is_whole: bool


def check_backup(
    place: BackupPlace,
    manifest: Manifest,
    stop: Signal,
    progress: Progress = lambda _done, _end: None,
) -> bool:
    """Read a whole backup; return whether the end was reached before `stop`.

    Raises BackupDamagedError at the first file that differs from what was written.
    """
    for part in parts(place, manifest):
        progress(part.first + len(part.records), PASSES * manifest.reached.records)
        if stop.is_set():
            return False
    return True


def check_empty(ends: Mapping[Topic, int]) -> None:
    """Raise RestoreRefusedError if topics hold records that no restore writes.

    `ends` are the ends of the existing topics.
    """
    full = [topic.value for topic, end in ends.items() if end and topic not in RESTORED]
    if full:
        raise refused(f"its topics {', '.join(full)} hold records")


def refused(what: str) -> RestoreRefusedError:
    """Return the error for a cluster with a ledger of this name."""
    return RestoreRefusedError(
        f"the cluster has a ledger of this name: {what}. Nothing was changed. Restore into another "
        "cluster, or first delete the topics of this ledger, if it is not needed any more. For the "
        "embedded Kafka of this machine, --replace sets them aside"
    )


class Restore:
    """One run of a restore into a log whose topics exist."""

    def __init__(self, log: Log, place: BackupPlace, manifest: Manifest) -> None:
        self._log = log
        self._place = place
        self._manifest = manifest
        self._topic = log.topic_id(Topic.EVENTS)
        self._is_marked_whole = False
        self._is_copy = False

    def run(self, stop: Signal, progress: Progress = lambda _done, _end: None) -> RestoreOutcome:
        """Write the missing records, compare all records, mark the topic as whole.

        A topic that already holds the whole backup, copied by other means, is compared and marked.
        A `stop` ends the run early; the next run continues from there. Raises RestoreRefusedError
        if the topic holds anything else, RestoreDifferError if another program wrote to it.
        """
        begin = self._begin()
        is_marked = self._is_marked_whole and begin == self._manifest.reached.records
        if not is_marked and not self._is_copy:
            self._mark(is_whole=False)
        is_written = self._is_copy or self._write(begin, stop, progress)
        written = self._log.ends(Topic.EVENTS)[1] - begin
        if not is_written or not self._compare(stop, progress):
            return RestoreOutcome(written, is_whole=False)
        if not is_marked:
            self._mark(is_whole=True)
        return RestoreOutcome(written, is_whole=True)

    def _begin(self) -> int:
        """Return the number of records in the topic, from a former run or a whole copy."""
        end = self._log.ends(Topic.EVENTS)[1]
        if end == 0:
            return 0
        records, ours = self._manifest.reached.records, (self._topic, self._manifest.ledger)
        found = read_restored(self._log, self._manifest.domain)
        if found is not None and (found.topic, found.ledger) == ours:
            if end > records:
                raise refused(
                    f"its events topic holds {end} records, and the backup {records}: the ledger "
                    "went on after it was restored"
                )
            self._is_marked_whole = found.is_whole
        elif end < records or is_ledger(self._log):
            raise refused(f"its events topic holds {end} records")
        else:
            self._is_copy = True
        return end

    def _mark(self, *, is_whole: bool) -> None:
        reached = self._manifest.reached
        mark = Restored(
            self._manifest.ledger,
            self._topic,
            reached.head.position,
            reached.records,
            reached.digest.hex(),
            is_whole,
        )
        write_restored(self._log, self._manifest.domain, mark)

    def _write(self, begin: int, stop: Signal, progress: Progress) -> bool:
        """Append the records from number `begin` on; return whether all are written."""
        total = self._manifest.reached.records
        with closing(self._log.writer(Topic.EVENTS)) as writer:
            for part in parts(self._place, self._manifest):
                end = part.first + len(part.records)
                if end <= begin:
                    continue
                if stop.is_set():
                    return False
                for record in islice(part.records, max(0, begin - part.first), None):
                    writer.append(record.key, record.value)
                writer.flush(WRITE_S)
                progress(total + end, PASSES * total)
        return True

    def _compare(self, stop: Signal, progress: Progress) -> bool:
        """Read the topic back as every reader does; return whether the end was reached."""
        reached, digest, number = self._manifest.reached, NO_DIGEST, 0
        end = self._log.ends(Topic.EVENTS)[1]
        batches = BatchAcceptor(self._log, Acceptor(LogHead()), 0)
        head = batches.acceptor.head
        with closing(batches.open()) as reader:
            while (left := min(end, reached.records) - number) > 0:
                if stop.is_set():
                    return False
                limit = min(left, READ_MAX)
                records = read_batch(self._log, reader, end, head.position, limit=limit)
                for record in records:
                    digest = next_digest(digest, record.key, record.value)
                for _ in batches.controls(records):
                    pass
                number += len(records)
                progress(2 * reached.records + number, PASSES * reached.records)
        end = self._log.ends(Topic.EVENTS)[1]
        is_longer = end > number and not self._is_copy
        if is_longer or (digest, head) != (reached.digest, reached.head):
            raise RestoreDifferError(
                f"the events topic holds {end} records, the first {number} with digest "
                f"{digest.hex()}, the backup {reached.records} with {reached.digest.hex()}: another"
                " program wrote to the topic. Stop every sequencer of this ledger, delete its "
                "topics, and restore again"
            )
        return True


def is_ledger(log: Log) -> bool:
    """Return whether readers accept the topic as the ledger without a mark."""
    try:
        read_genesis(log, GENESIS_S)
    except (LogError, SettingsError):
        return False
    return True
