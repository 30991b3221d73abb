"""Taking a backup: the records of the events topic that came since the last one, as new files.

The ledger continues meanwhile. Records are judged as every reader judges them, so a log that lost
its end, or another log, is found before anything is written. A killed run leaves the files of its
last manifest; the next run continues from there.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from threading import Event as Signal
from typing import Any, Final, NamedTuple

from ledger.backup.container import Copied, container_bytes
from ledger.backup.contents import opened_file
from ledger.backup.errors import BackupDamagedError, BackupError, BackupForeignError
from ledger.backup.joined import JoinedLog, joined_log
from ledger.backup.manifest import (
    NAME,
    NOTHING,
    BackupReached,
    DataFile,
    Manifest,
    next_digest,
    read_manifest,
)
from ledger.backup.place import BackupPlace
from ledger.core.events.events import LedgerCreated
from ledger.errors import LogDamagedError, LogError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.port import Log, LogReader, Record, Topic
from ledger.log.replay import read_batch
from ledger.log.trimmed import start_of
from ledger.session.tail import read_genesis

GENESIS_S: Final = 10.0
FILE_BYTES: Final = 32 * 1024 * 1024
# A smaller last file is written again together with the newer records: otherwise a backup every
# minute would be a file every minute.
SMALL_BYTES: Final = 4 * 1024 * 1024
PREFIX: Final = "events-"
SUFFIX: Final = ".avro"

Progress = Callable[[int, int], None]


class Taken(NamedTuple):
    """The result of a run: the manifest, the number of new records, whether the end was reached."""

    manifest: Manifest
    new_records: int
    is_whole: bool


def take(
    log: Log,
    place: BackupPlace,
    topics: Mapping[str, Mapping[str, Any]],
    *,
    stop: Signal,
    progress: Progress = lambda _done, _end: None,
    file_bytes: int = FILE_BYTES,
    archive: str | None = None,
) -> Taken:
    """Extend a backup to the present end of the log; `topics` goes into its manifest.

    Events that a trim took from the log come from the backup `archive`, by default the one that the
    trim names. Raises LogTrimmedError if they are needed and cannot be read.

    A `stop` ends it early and leaves a whole backup up to an earlier position. Raises
    BackupForeignError if the backup is of another log, BackupDamagedError and BackupError for its
    files, and as every reader of the log.
    """
    created = read_genesis(log, GENESIS_S)
    with place.alone():
        former = read_manifest(place)
        taken = former.reached.head.position if former is not None else 0
        if taken < start_of(log, created.domain).head.position:
            log = joined_log(log, archive, created.domain)
        if isinstance(log, JoinedLog):
            log.check()
        manifest = begun(log, place, created, topics)
        copy = _Copy(log, place, manifest, file_bytes)
        before = manifest.reached.records
        is_whole = copy.run(stop, progress)
        # A killed run may have left a file whose records are now in a file of another name.
        remove_superseded(place, copy.manifest, place.names())
        return Taken(copy.manifest, copy.manifest.reached.records - before, is_whole)


def begun(
    log: Log, place: BackupPlace, created: LedgerCreated, topics: Mapping[str, Mapping[str, Any]]
) -> Manifest:
    """Return the manifest to extend; a new backup gets its first one."""
    found, names = read_manifest(place), place.names()
    topic = log.topic_id(Topic.EVENTS)
    if found is None:
        if names:
            raise BackupError(
                f"{place.path} holds {min(names)} and no {NAME}, so it cannot be extended as a "
                f"backup. Choose an empty folder, or put {NAME} of this backup back"
            )
        fresh = Manifest(created.ledger, created.name, created.domain, topic, topics, NOTHING, ())
        fresh.write(place)
        return fresh
    check_ledger(place, found, created)
    for file in found.files:
        if file.name not in names:
            raise BackupDamagedError(place.path, file.name, "the file is missing")
    return found


def check_ledger(place: BackupPlace, found: Manifest, created: LedgerCreated) -> None:
    """Raise BackupForeignError if a backup is of another ledger than a log."""
    if found.ledger != created.ledger:
        raise BackupForeignError(
            f"the backup in {place.path} is of ledger {found.name} with id {found.ledger}, and the "
            f"log is of ledger {created.name} with id {created.ledger}. Nothing was changed. "
            "Choose another path for this ledger"
        )


def remove_superseded(place: BackupPlace, manifest: Manifest, names: set[str]) -> None:
    """Remove data files that a killed run left: their records are in files of the manifest."""
    named = {file.name for file in manifest.files}
    for name in names - named:
        end = end_offset_in(name)
        if end is not None and end <= manifest.reached.end_offset:
            place.remove(name)


def file_name(first_position: int, end_offset: int) -> str:
    """Return the name of a data file; a longer one from the same position has another name."""
    return f"{PREFIX}{first_position:020}-{end_offset:020}{SUFFIX}"


def end_offset_in(name: str) -> int | None:
    """Return the offset after the last record of a data file, from its name."""
    middle = name.removeprefix(PREFIX).removesuffix(SUFFIX)
    end = middle.rpartition("-")[2]
    return int(end) if name == f"{PREFIX}{middle}{SUFFIX}" and end.isdigit() else None


class _Copy:
    """One run: reads on from the end of the manifest, and writes file after file."""

    def __init__(self, log: Log, place: BackupPlace, manifest: Manifest, file_bytes: int) -> None:
        self.manifest = manifest
        self._log = log
        self._place = place
        self._file_bytes = file_bytes
        self._reached = manifest.reached
        # A restored topic begins at offset 0 and has no holes.
        is_same = log.topic_id(Topic.EVENTS) == manifest.events_topic
        offset = self._reached.counted_end if is_same else self._reached.counted
        self._acceptor = Acceptor(self._reached.head.copy())
        self._batches = BatchAcceptor(log, self._acceptor, offset)
        self._gathered: list[Copied] = []
        self._bytes = 0
        self._kept = manifest.files

    def run(self, stop: Signal, progress: Progress) -> bool:
        """Copy up to the end of the log, or until `stop`; return whether the end was reached."""
        with closing(self._open()) as reader:
            self._pass_over_taken(reader)
            end = self._log.ends(Topic.EVENTS)[1]
            try:
                while reader.next_offset() < end and not stop.is_set():
                    self._gather(read_batch(self._log, reader, end, self._acceptor.head.position))
                    progress(reader.next_offset(), end)
            except LogError:
                self._put()
                raise
            self._put()
            return reader.next_offset() >= end

    def _open(self) -> LogReader:
        try:
            return self._batches.open()
        except LogDamagedError as error:
            raise self._foreign() from error

    def _pass_over_taken(self, reader: LogReader) -> None:
        """Read the records again that did not count at the end of the backup, and compare them."""
        reached = self._reached
        digest = reached.counted_digest
        left = reached.records - reached.counted
        end = self._log.ends(Topic.EVENTS)[1]
        while left:
            if reader.next_offset() >= end:
                raise self._foreign()
            records = read_batch(self._log, reader, end, reached.head.position, limit=left)
            left -= len(records)
            for record in records:
                digest = next_digest(digest, record.key, record.value)
        if digest != reached.digest:
            raise self._foreign()

    def _foreign(self) -> BackupForeignError:
        manifest = self.manifest
        head = manifest.reached.head
        return BackupForeignError(
            f"the backup in {self._place.path} goes to position {head.position} with chain "
            f"{head.chain.hex()}, and the log of ledger {manifest.name} does not hold that record: "
            "the log lost its end or was written anew. Nothing was changed. Keep this backup, it "
            "may be the last copy of what the log lost: lakeledger recover --backup "
            f"{self._place.path} lists that. To back up the log as it is now, choose another path"
        )

    def _gather(self, records: Sequence[Record]) -> None:
        """Judge records, and write a file whenever enough of them are gathered."""
        head = self._acceptor.head
        for record, control in self._batches.controls(records):
            before = self._reached
            whole = (
                before.records + 1,
                record.offset + 1,
                next_digest(before.digest, record.key, record.value),
            )
            counted = before[1:4] if control is None else whole
            self._reached = BackupReached(head, *counted, *whole)
            self._gathered.append(Copied(*record_fields(record), head.position, head.chain))
            self._bytes += len(record.key) + len(record.value)
            if self._bytes >= self._file_bytes:
                self._put()

    def _put(self) -> None:
        """Write the gathered records as a file, then the manifest with the file."""
        if not self._gathered:
            return
        records = self._with_small_file()
        kept = self._kept
        first_position = kept[-1].last_position + 1 if kept else 1
        reached = self._reached._replace(head=self._acceptor.head.copy())
        data = container_bytes(self.manifest.ledger, first_position, reached.digest, records)
        entry = DataFile(
            file_name(first_position, reached.end_offset),
            first_position,
            reached.head.position,
            records[0].offset,
            reached.end_offset,
            len(records),
            sum(len(record.key) + len(record.value) for record in records),
            len(data),
            sha256(data).hexdigest(),
        )
        self._place.write(entry.name, data)
        replaced = self.manifest.files[len(kept) :]
        self.manifest = self.manifest.with_files(
            (*kept, entry), reached, self._log.topic_id(Topic.EVENTS)
        )
        self.manifest.write(self._place)
        for each in replaced:
            self._place.remove(each.name)
        self._kept = self.manifest.files
        self._gathered, self._bytes = [], 0

    def _with_small_file(self) -> list[Copied]:
        """Return the gathered records, after the records of a small last file."""
        last = self._kept[-1] if self._kept else None
        if last is None or last.content >= min(SMALL_BYTES, self._file_bytes):
            return self._gathered
        records = opened_file(self._place, self.manifest, last).records
        self._kept = self._kept[:-1]
        return [*records, *self._gathered]


def record_fields(record: Record) -> tuple[int, int, bytes, bytes]:
    """Return the fields of a record in the order of a data file."""
    return record.offset, record.timestamp, record.key, record.value
