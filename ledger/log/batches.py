"""Batches of events, judged with a check that the log is still the one that was read.

If a broker loses the end of a log and new records follow, a running reader sees a different log at
the same offsets. A record whose chain continues confirms all records before it. A `Fenced`, or a
record that does not count, confirms nothing, so the last record that counted is read again before
either is accepted or dropped. Every reader that follows the log works in this way.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from typing import TypeVar

from ledger.core.acceptance import RecordKind
from ledger.core.events.events import Control, Event, LedgerCreated
from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.log.acceptor import Acceptor
from ledger.log.passed_over import cut_in, is_passed_over
from ledger.log.port import READ_MAX, Log, LogReader, Record, Topic
from ledger.log.restored import read_restored, unfinished
from ledger.log.trimmed import check_whole, start_of, trimmed
from ledger.log.wire.codec import record_kind

# The time that a broker may take to come back.
CONFIRM_S = 35.0

Judged = TypeVar("Judged", Event, Control)


class BatchAcceptor:
    """Judges records of the events topic batch by batch; for one thread.

    `offset` follows the last record that counted, with which `acceptor.head` ends. That record is
    read again at most once per batch, and never if all records of the batch count without a
    `Fenced` among them. Records at the offsets `passed` do not count, and neither does a damaged
    record that a later cut passes over.
    """

    def __init__(
        self,
        log: Log,
        acceptor: Acceptor,
        offset: int,
        passed: Container[int] = (),
        *,
        is_again: bool = False,
    ) -> None:
        self.acceptor = acceptor
        self.offset = offset
        self.passed = passed
        self._log = log
        # Set while the log is read again only to compare it with the first reading.
        self._is_again = is_again

    def open(self) -> LogReader:
        """Confirm the last record that counted, and return a reader of the records after it.

        Raises LogDamagedError if the log is no longer the one that was read, or if its beginning is
        gone before anything was read. Raises LogUnavailableError if the broker does not answer.
        """
        start, end = self._log.ends(Topic.EVENTS)
        if self.offset == 0:
            check_whole(self._log)
            return self._log.reader(Topic.EVENTS, 0)
        if self.offset <= start:
            self._check_trim()
            return self._log.reader(Topic.EVENTS, self.offset)
        if self.offset > end:
            raise not_where_it_was(self.acceptor)
        reader = self._log.reader(Topic.EVENTS, self.offset - 1)
        try:
            confirm(reader, self.acceptor)
        except BaseException:
            reader.close()
            raise
        return reader

    def events(self, records: Iterable[Record]) -> Iterator[tuple[Record, Event | None]]:
        """Yield each record of one batch with its event, or with None if it does not count.

        A record is judged when the iterator reaches it. Raises as `Acceptor.take` and as `open`. An
        error of `open` leaves head and offset before the record, so that reading may resume there.
        """
        return self._judged(records, self.acceptor.take)

    def controls(self, records: Iterable[Record]) -> Iterator[tuple[Record, Control | None]]:
        """Yield as `events` does, but only the control fields."""
        return self._judged(records, self.acceptor.take_control)

    def _judged(
        self, records: Iterable[Record], take: Callable[[bytes], Judged | None]
    ) -> Iterator[tuple[Record, Judged | None]]:
        is_confirmed = False
        for record in records:
            # A Fenced that counts moves the head, so the check comes first.
            if not is_confirmed and record_kind(record.value) is RecordKind.FENCED:
                self._look_back()
                is_confirmed = True
            judged = self._taken(record, take)
            if judged is not None:
                self.offset = record.offset + 1
            elif not is_confirmed:
                self._look_back()
                is_confirmed = True
            if judged is None and record_kind(record.value) is RecordKind.LOG_CUT:
                self._check_cut(record)
            yield record, judged

    def _taken(self, record: Record, take: Callable[[bytes], Judged | None]) -> Judged | None:
        try:
            return take(record.value)
        except LogDamagedError as damage:
            if record.offset in self.passed or is_passed_over(self._log, record.offset):
                return None
            raise damaged_at(record.offset, damage) from damage

    def _look_back(self) -> None:
        """Check that the last record that counted is still there; raises as `open`."""
        if self.offset:
            self.open().close()

    def _check_trim(self) -> None:
        """Check that the log begins where this reader is; raises as `open`, and LogTrimmedError."""
        begun = start_of(self._log)
        if begun.mark is None or self.offset > begun.offset:
            raise not_where_it_was(self.acceptor)
        if self.offset < begun.offset:
            raise trimmed(begun.mark)
        if (begun.head.position, begun.head.chain) != (
            self.acceptor.head.position,
            self.acceptor.head.chain,
        ):
            raise not_where_it_was(self.acceptor)

    def _check_cut(self, record: Record) -> None:
        """Check that a cut that does not count passes over no record that was read as sound.

        A reader that took a record before its bytes were damaged has a different log than the cut
        continues, though the last record is still in its place. So the log is read again from its
        start. That is rare: few cuts name a record, and fewer of them do not count.
        """
        passed = [each.offset for cut in cut_in(record.value) for each in cut.passed]
        if not passed or min(passed) >= self.offset or self._is_again:
            return
        begun = start_of(self._log)
        acceptor = self.acceptor.anew(begun.head)
        again = BatchAcceptor(self._log, acceptor, begun.offset, self.passed, is_again=True)
        with closing(self._log.reader(Topic.EVENTS, begun.offset)) as reader:
            while (left := record.offset - reader.next_offset()) > 0:
                records = reader.read(min(left, READ_MAX), CONFIRM_S)
                if not records:
                    raise not_in_time(reader.next_offset())
                for _ in again.controls(r for r in records if r.offset < record.offset):
                    pass
        if again.acceptor.head != self.acceptor.head:
            raise LogDamagedError(
                self.acceptor.head.position,
                f"the cut at offset {record.offset} passes over a record that was sound when it was"
                " read: the events after that record are lost",
            )


def not_in_time(offset: int) -> LogUnavailableError:
    """Return the error for a record that exists and was not delivered in time."""
    return LogUnavailableError(
        f"the record at offset {offset} did not come within {CONFIRM_S:.0f} s; see whether the "
        "broker runs"
    )


def confirm(reader: LogReader, acceptor: Acceptor) -> None:
    """Read the record that the head ends with; raises as `BatchAcceptor.open`."""
    last = reader.read(1, CONFIRM_S)
    if not last:
        raise LogUnavailableError(
            f"the record at position {acceptor.head.position} did not come within {CONFIRM_S} s, "
            "so the log could not be confirmed; see whether the broker runs"
        )
    if not acceptor.confirms(last[0].value):
        raise not_where_it_was(acceptor)


def damaged_at(offset: int, damage: LogDamagedError) -> LogDamagedError:
    """Return the error for a record that no sequencer can have written, with its offset."""
    return LogDamagedError(
        damage.position,
        f"{damage.what} (the record at offset {offset}). If it came into the topic by mistake, "
        f"lakeledger recover --pass-over {offset} lets all readers continue after it",
    )


def check_topic(log: Log, created: LedgerCreated) -> None:
    """Raise LogDamagedError if the events are read from another topic than they were written to.

    A copy may have lost its end, and a sequencer that continued it would write another history. A
    restore or an adoption that compared the copy leaves a mark, see `ledger.log.restored`.
    """
    found = log.topic_id(Topic.EVENTS)
    if created.events_topic == found:
        return
    restored = read_restored(log, created.domain)
    if restored is None or (restored.ledger, restored.topic) != (created.ledger, found):
        raise LogDamagedError(
            1,
            f"it was recorded in topic {created.events_topic} and is read from {found}. If the "
            "ledger is to continue with this copy, lakeledger recover --adopt compares it with "
            "all that is left",
        )
    if not restored.is_whole:
        raise unfinished()


def not_where_it_was(acceptor: Acceptor) -> LogDamagedError:
    """Return the error for a log that is no longer the one that was read."""
    return LogDamagedError(
        acceptor.head.position,
        "the last applied record is no longer in its place: the log lost its end or was re-created",
    )
