"""A log whose first events were trimmed: what its readers find, and what they refuse."""

from collections.abc import Iterator

import pytest

from ledger.core.acceptance import LogHead
from ledger.core.events.events import LedgerCreated
from ledger.errors import LogDamagedError, LogTrimmedError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.log_end import last_position
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Topic
from ledger.log.replay import Replay
from ledger.log.trimmed import LogStart, TrimMark, read_trim_mark, start_of, write_trim_mark
from ledger.session.tail import read_genesis
from ledger.testing import InMemoryLedger

PLACE = "s3://lake/backup"


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    """Return a ledger with some events."""
    with InMemoryLedger() as memory, memory.connect() as ledger:
        for number in range(5):
            ledger.create_table(f"t{number}", [("id", "bigint")])
        yield memory


def log_of(memory: InMemoryLedger) -> MemoryLog:
    log = memory.log
    assert isinstance(log, MemoryLog)
    return log


def mark_at(log: MemoryLog, below: int) -> TrimMark:
    """Return the mark of a trim below a position."""
    acceptor, created = Acceptor(LogHead()), None
    end = log.ends(Topic.EVENTS)[1]
    for record in log.reader(Topic.EVENTS, 0).read(end, 0):
        head = acceptor.head.copy()
        event = acceptor.take(record.value)
        if event is not None and isinstance(event.body, LedgerCreated):
            created = event.body
        if event is not None and event.control.position == below:
            assert created is not None
            topic = log.topic_id(Topic.EVENTS)
            return TrimMark(topic, below, record.offset, head, created, PLACE, below + 1, below + 2)
    raise AssertionError(f"the log has no position {below}")


def trim(log: MemoryLog, below: int) -> TrimMark:
    mark = mark_at(log, below)
    write_trim_mark(log, 0, mark)
    log.remove_below(Topic.EVENTS, mark.offset)
    return mark


def test_a_whole_log_has_no_mark(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    assert read_trim_mark(log) is None
    assert start_of(log) == LogStart(0, LogHead())


def test_readers_begin_where_the_trim_says(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    whole = [event.control.position for event in Replay(log)]
    created, end = read_genesis(log, 1.0), last_position(log, 0)
    mark = trim(log, 6)
    assert read_trim_mark(log) == mark
    assert read_genesis(log, 1.0) == created
    assert last_position(log, 0) == end
    assert [e.control.position for e in Replay(log, begun=start_of(log))] == whole[5:]


class TrimmedBetween(MemoryLog):
    """A log that is trimmed once a reader of events has begun, as by a leader's policy."""

    def __init__(self, log: MemoryLog, mark: TrimMark) -> None:
        super().__init__()
        self.topics = log.topics
        self._mark: TrimMark | None = mark

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        reader = super().reader(topic, offset)
        if topic is Topic.EVENTS and (mark := self._mark) is not None:
            self._mark = None
            write_trim_mark(self, 0, mark)
            self.remove_below(Topic.EVENTS, mark.offset)
        return reader


def test_a_trim_between_two_reads_is_not_the_end_of_a_reader(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    created, end = read_genesis(log, 1.0), last_position(log, 0)
    first, second = mark_at(log, 4), mark_at(log, 6)
    assert read_genesis(TrimmedBetween(log, first), 1.0) == created
    assert last_position(TrimmedBetween(log, second), 0) == end


def test_records_that_are_gone_without_a_trim_end_a_reader(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    log.remove_below(Topic.EVENTS, 4)
    for read in (lambda: last_position(log, 0), lambda: read_genesis(log, 1.0)):
        with pytest.raises(LogDamagedError):
            read()


def test_a_client_connects_to_a_trimmed_log(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    trim(log, 6)
    with memory.connect() as ledger:
        ledger.create_table("later", [("id", "bigint")])
    assert last_position(log, 0) > 6


def test_who_wants_trimmed_events_gets_the_place_of_the_archive(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    early = BatchAcceptor(log, Acceptor(mark_at(log, 3).head), mark_at(log, 3).offset)
    mark = trim(log, 6)
    with pytest.raises(LogTrimmedError, match=PLACE) as refused:
        list(Replay(log))
    assert (refused.value.below, refused.value.archive) == (6, PLACE)
    with pytest.raises(LogTrimmedError):
        BatchAcceptor(log, Acceptor(LogHead()), 0).open()
    with pytest.raises(LogTrimmedError):
        early.open()
    BatchAcceptor(log, Acceptor(mark.head), mark.offset).open().close()


def test_a_log_that_lost_more_than_the_trim_says_is_damaged(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    mark = trim(log, 6)
    log.remove_below(Topic.EVENTS, mark.offset + 1)
    with pytest.raises(LogDamagedError):
        start_of(log)
    with pytest.raises(LogDamagedError):
        read_genesis(log, 1.0)


def test_a_mark_of_another_topic_or_another_head_does_not_count(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    mark = mark_at(log, 6)
    write_trim_mark(log, 0, mark._replace(topic="elsewhere"))
    log.remove_below(Topic.EVENTS, mark.offset)
    with pytest.raises(LogDamagedError):
        start_of(log)
    other = mark.head.copy()
    other.chain = b"12345678"
    write_trim_mark(log, 0, mark._replace(head=other))
    with pytest.raises(LogDamagedError):
        list(Replay(log, begun=start_of(log)))
