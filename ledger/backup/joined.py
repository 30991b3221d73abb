"""A trimmed log and its archive as one log, from the first event of the ledger on.

The records that a trim took away are read from the backup, the others from the broker. Records of
the backup that the log once lost, and that a cut left out, are not among them: the backup counts up
to the place where the trimmed log begins only.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from ledger.backup.container import Copied
from ledger.backup.contents import manifest_in, opened_file
from ledger.backup.errors import BackupError, BackupForeignError
from ledger.backup.manifest import DataFile, Manifest
from ledger.backup.place import BackupPlace, open_place
from ledger.errors import IncompatibleError, LogTrimmedError, SettingsError
from ledger.log.port import Log, LogReader, LogWriter, Record, Topic
from ledger.log.trimmed import TrimMark, start_of

UNUSABLE: Final = (BackupError, IncompatibleError, SettingsError)


class ArchivedPart(NamedTuple):
    """The files of a backup in front of a trimmed log, and how many records they hold of it."""

    manifest: Manifest
    files: tuple[DataFile, ...]
    records: int


class JoinedLog:
    """A log whose events begin in a backup; offsets there are the numbers of the records.

    Raises LogTrimmedError at the first read from the backup, if that cannot be read or is not of
    the log with the `mark`.
    """

    def __init__(self, log: Log, place: BackupPlace, mark: TrimMark) -> None:
        self.log = log
        self.place = place
        self.mark = mark

    def reader(self, topic: Topic, offset: int) -> LogReader:
        """Return a reader that starts at `offset`."""
        if topic is Topic.EVENTS and offset < self.mark.offset:
            return JoinedReader(self, offset)
        return self.log.reader(topic, offset)

    def writer(self, topic: Topic) -> LogWriter:
        """Return a writer of the log."""
        return self.log.writer(topic)

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the first offset and the end offset; events begin with the first of the ledger."""
        first, end = self.log.ends(topic, timeout_s)
        return (0, end) if topic is Topic.EVENTS else (first, end)

    def topic_id(self, topic: Topic) -> str:
        """Return the broker's id of the topic."""
        return self.log.topic_id(topic)

    def close(self) -> None:
        """Close the log."""
        self.log.close()

    def check(self) -> None:
        """Raise LogTrimmedError unless the backup holds the events in front of the log."""
        assert self.archived.records, "a trimmed log has events in front of it"

    @cached_property
    def archived(self) -> ArchivedPart:
        """The part of the backup in front of the log; raises LogTrimmedError."""
        try:
            return part_of(self.place, self.mark)
        except UNUSABLE as problem:
            raise unreadable(self.mark, problem) from problem

    def records_at(self, number: int) -> Sequence[Record]:
        """Return the archived records from a number on to the end of their file."""
        manifest, files, end = self.archived
        first = 0
        for file in files:
            if number < first + file.records:
                try:
                    found = opened_file(self.place, manifest, file).records
                except UNUSABLE as problem:
                    raise unreadable(self.mark, problem) from problem
                return [
                    Record(first + at, each.key, each.value, each.timestamp)
                    for at, each in enumerate(found[: end - first])
                    if first + at >= number
                ]
            first += file.records
        return ()


class JoinedReader:
    """Reads the events forward, first those in the backup."""

    def __init__(self, joined: JoinedLog, offset: int) -> None:
        self._joined = joined
        self._next = offset
        self._waiting: Sequence[Record] = ()
        self._tail: LogReader | None = None

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, from one place at a time."""
        if self._tail is not None:
            return self._tail.read(limit, timeout_s)
        self._waiting = self._waiting or self._joined.records_at(self._next)
        if not self._waiting:
            self._tail = self._joined.log.reader(Topic.EVENTS, self._joined.mark.offset)
            return self._tail.read(limit, timeout_s)
        found, self._waiting = self._waiting[:limit], self._waiting[limit:]
        self._next = found[-1].offset + 1
        return found

    def next_offset(self) -> int:
        """Return the offset of the next record to be returned."""
        return self._next if self._tail is None else self._tail.next_offset()

    def close(self) -> None:
        """Close the reader of the log."""
        if self._tail is not None:
            self._tail.close()


def joined_log(log: Log, path: str | None = None, domain: int = 0) -> Log:
    """Return a log with all events from the first one on; one that was not trimmed has them.

    `path` is where the backup lies, by default where the trim says. Raises as `start_of`, and
    LogTrimmedError for a path that names no backup.
    """
    mark = start_of(log, domain).mark
    if mark is None:
        return log
    try:
        return JoinedLog(log, open_place(path or mark.archive), mark)
    except UNUSABLE as problem:
        raise unreadable(mark, problem) from problem


def part_of(place: BackupPlace, mark: TrimMark) -> ArchivedPart:
    """Return the part of a backup that a trimmed log continues.

    Raises BackupForeignError for a backup of another log, or one that ends before the log begins.
    """
    manifest, files, records = manifest_in(place), list[DataFile](), 0
    last: Copied | None = None
    for file in manifest.files:
        # The next file may begin with records that do not count, and follow the last one.
        if file.first_position > mark.head.position + 1:
            break
        count = file.records
        if file.last_position >= mark.head.position:
            copied = opened_file(place, manifest, file).records
            inside = [record for record in copied if record.position <= mark.head.position]
            count, last = len(inside), inside[-1] if inside else last
        if count:
            files.append(file)
            records += count
    is_of_log = last is not None and (last.position, last.chain) == (
        mark.head.position,
        mark.head.chain,
    )
    if manifest.ledger != mark.created.ledger or not is_of_log:
        raise BackupForeignError(
            f"the backup in {place.path} is of ledger {manifest.ledger} and goes to position "
            f"{manifest.reached.head.position}. The log is of ledger {mark.created.ledger} and "
            f"begins behind position {mark.head.position}, which that backup does not hold as the "
            "log had it"
        )
    return ArchivedPart(manifest, tuple(files), records)


def unreadable(mark: TrimMark, problem: Exception) -> LogTrimmedError:
    """Return the error for a backup with trimmed events that cannot be read."""
    return LogTrimmedError(
        f"the events below position {mark.below} were trimmed from the log, and cannot be read "
        f"from a backup: {problem}. The trim named the backup {mark.archive}; if it lies elsewhere "
        "now, name it with the setting log.archive",
        below=mark.below,
        archive=mark.archive,
    )
