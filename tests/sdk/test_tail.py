"""The tail: answers come from records that count, and from nothing else."""

from collections.abc import Callable, Iterator, Sequence
from typing import Self

import pytest

from ledger.core.acceptance import AFTER_CHAIN, CHAIN_AT, LogHead, chain_after
from ledger.core.commands import OpenTxn
from ledger.core.decide.decide import decide
from ledger.core.decide.stamp import answer_control
from ledger.core.events.events import Control, Fenced, SessionOpened, TxnOpened
from ledger.errors import IncompatibleError, LogDamagedError, LogError
from ledger.log.checkpoints import Checkpoint, CheckpointWriter, read_newest_head
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Record, Topic
from ledger.log.trimmed import TrimMark, write_trim_mark
from ledger.log.wire.codec import HEADER, frame_event, frame_fence
from ledger.session.tail import Awaited, Tail, read_genesis
from ledger.trimming.survey import found_in
from ledger.version import CODE_VERSION, READER_VERSION
from tests.driver import NEVER, Driver

WAIT_S = 10.0
LATER_ID = 741_999


@pytest.fixture
def driver() -> Driver:
    driver = Driver()
    driver.open_txn(driver.open_session())
    return driver


@pytest.fixture
def tail(driver: Driver) -> Iterator[Tail]:
    tail = Tail.start(driver.log, 0)
    yield tail
    tail.close()


def session_of(driver: Driver) -> int:
    return next(iter(driver.state.sessions.by_number))


def checkpointed(driver: Driver, *, times: int = 1) -> int:
    """Write checkpoints of the domain as it is; return the offset behind the last record."""
    writer = CheckpointWriter(driver.log.writer(Topic.CHECKPOINTS), 0)
    offset = len(driver.records)
    for _ in range(times):
        writer.write(Checkpoint(driver.state, driver.head, offset))
    return offset


def trim_to_last(driver: Driver) -> None:
    """Leave the last record only, as a trim does."""
    last, created = driver.head.position, driver.state.genesis
    assert created is not None
    head, offset = found_in(driver.log, last, lambda _done, _end: None)
    topic = driver.log.topic_id(Topic.EVENTS)
    write_trim_mark(
        driver.log, 0, TrimMark(topic, last, offset, head, created, "archive", last, last)
    )
    driver.log.remove_below(Topic.EVENTS, offset)


def test_an_answer_reaches_the_thread_that_waits_for_it(driver: Driver, tail: Tail) -> None:
    session = session_of(driver)
    awaited = tail.expect((session, 2))

    event = driver.ask(OpenTxn(session, 2, NEVER, "default", 1, 0))

    assert awaited.wait(WAIT_S) == event
    assert tail.position == event.control.position
    assert awaited.wait(0) == event


def test_a_change_is_the_only_one_unless_a_table_was_redefined(driver: Driver, tail: Tail) -> None:
    session = session_of(driver)
    table, seen = driver.create_table(session, "t"), tail.expect((session, 4))
    one, two = (driver.rename_table(session, table, name).control.position for name in "uv")

    assert seen.wait(WAIT_S) is not None
    assert [tail.is_only_change(two, since) for since in (one - 1, one)] == [False, True]
    assert [tail.is_only_change(one, since) for since in (one - 1, one)] == [False, False]


def test_the_answer_to_another_clients_command_wakes_no_thread(driver: Driver, tail: Tail) -> None:
    session = session_of(driver)
    ours, other = tail.expect((session, 3)), tail.expect((session, 2))
    driver.open_txn(session)

    assert other.wait(WAIT_S) is not None
    assert ours.wait(0) is None


def test_what_is_no_longer_expected_is_not_delivered(driver: Driver, tail: Tail) -> None:
    session = session_of(driver)
    forgotten, later = tail.expect((session, 2)), tail.expect((session, 3))
    tail.forget((session, 2))
    driver.open_txn(session)
    driver.open_txn(session)

    assert later.wait(WAIT_S) is not None
    assert forgotten.wait(0) is None


def test_the_answer_to_an_open_session_is_found_by_nonce(driver: Driver, tail: Tail) -> None:
    awaited = tail.expect_session(b"our own nonce !!")
    driver.open_session(nonce=b"another's nonce!")

    number = driver.open_session(nonce=b"our own nonce !!")

    event = awaited.wait(WAIT_S)
    assert event is not None
    assert isinstance(event.body, SessionOpened)
    assert event.control.position == number


def test_the_answer_of_a_leader_that_had_been_replaced_is_none(driver: Driver, tail: Tail) -> None:
    session = session_of(driver)
    awaited = tail.expect((session, 2))
    command = OpenTxn(session, 2, NEVER, "default", 1, 0)
    zombie = answer_by_replaced(driver, command)
    driver.append(zombie)

    event = driver.ask(command)

    assert awaited.wait(WAIT_S) == event
    assert isinstance(event.body, TxnOpened)
    assert event.body.size == 1


def answer_by_replaced(driver: Driver, command: OpenTxn) -> bytes:
    """Return the answer that the leader of an epoch writes which ends meanwhile."""
    body = decide(driver.state, command._replace(size=5), driver.now)
    control = answer_control(driver.state, driver.head, command, body, driver.now)
    _, framed = frame_event(control, body, driver.head.chain)
    driver.fence()
    return framed


def test_bytes_that_no_sequencer_wrote_end_the_tail(driver: Driver, tail: Tail) -> None:
    awaited = tail.expect((session_of(driver), 2))
    opening = tail.expect_session(b"our own nonce !!")
    driver.append(b"\0\0\0\0\1 no event")

    with pytest.raises(LogDamagedError, match=f"position {driver.head.position + 1}"):
        awaited.wait(WAIT_S)
    with pytest.raises(LogDamagedError):
        opening.wait(WAIT_S)
    with pytest.raises(LogDamagedError):
        tail.expect((4, 3))
    with pytest.raises(LogDamagedError):
        tail.expect_session(b"our own nonce !!")


def test_a_log_that_needs_a_later_reader_ends_the_tail(driver: Driver, tail: Tail) -> None:
    awaited = tail.expect((session_of(driver), 2))
    control = Control(b"", driver.head.epoch + 1, 0, 0, 0, 0, driver.now, 0)
    driver.append(frame_fence(control, Fenced(b"n" * 16, "later", CODE_VERSION, 1_000)))

    with pytest.raises(IncompatibleError, match="reader of version 1000"):
        awaited.wait(WAIT_S)


def test_an_event_of_a_later_version_is_no_obstacle(driver: Driver, tail: Tail) -> None:
    session = session_of(driver)
    awaited = tail.expect((session, 3))
    skip_one(driver, later_version(driver, OpenTxn(session, 2, NEVER, "default", 1, 0)))

    event = driver.ask(OpenTxn(session, 3, NEVER, "default", 1, 0))

    assert awaited.wait(WAIT_S) == event


def test_answer_of_a_later_version(driver: Driver, tail: Tail) -> None:
    session = session_of(driver)
    awaited = tail.expect((session, 2))
    driver.append(later_version(driver, OpenTxn(session, 2, NEVER, "default", 1, 0)))

    with pytest.raises(IncompatibleError, match="update this reader"):
        awaited.wait(WAIT_S)


def later_version(driver: Driver, command: OpenTxn) -> bytes:
    """Return the answer to a command as an event of a type that comes with a later version."""
    body = decide(driver.state, command, driver.now)
    control = answer_control(driver.state, driver.head, command, body, driver.now)
    _, known = frame_event(control, body, driver.head.chain)
    later = HEADER.pack(0, LATER_ID) + known[CHAIN_AT:]
    return later[:CHAIN_AT] + chain_after(driver.head.chain, later) + later[AFTER_CHAIN:]


def skip_one(driver: Driver, framed: bytes) -> None:
    """Append a record and go on behind it as if it had changed nothing."""
    assert driver.acceptor.take_control(framed) is not None
    driver.append(framed)
    driver.state.position, driver.state.last_cmd = driver.head.position, driver.head.last_cmd


def test_who_waits_when_a_ledger_is_closed_is_told_so(driver: Driver, tail: Tail) -> None:
    awaited = tail.expect((session_of(driver), 2))

    tail.close()

    with pytest.raises(LogError, match="connect again"):
        awaited.wait(WAIT_S)


class Raced(int):
    """The number of a session; whoever compares it finds that another was answered meanwhile."""

    def __new__(cls, number: int, answered: Callable[[], object]) -> Self:
        raced = super().__new__(cls, number)
        raced.answered = answered
        return raced

    answered: Callable[[], object]

    def __eq__(self, other: object) -> bool:
        """Compare, a moment too late."""
        self.answered()
        return super().__eq__(other)

    __hash__ = int.__hash__


def test_left_while_answers_come(tail: Tail) -> None:
    raced = tail.expect((Raced(4, lambda: tail.forget((5, 1))), 1))
    tail.expect((5, 1))
    later = tail.expect((4, 2))

    tail.leave(4)

    for awaited in (raced, later):
        with pytest.raises(LogError, match="connect again"):
            awaited.wait(0)


class BrokenReader(MemoryLogReader):
    """A reader with an error that nobody foresaw."""

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        raise ZeroDivisionError(f"{limit} in {timeout_s}")


class BrokenLog(MemoryLog):
    """A log whose readers are broken."""

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        return BrokenReader(self, self.topics[topic], offset)


def test_an_unforeseen_error_reaches_the_waiting_threads() -> None:
    tail = Tail(BrokenLog(), LogHead(), 0)
    awaited = tail.expect((4, 1))

    tail.run()

    with pytest.raises(LogError, match="ZeroDivisionError"):
        awaited.wait(WAIT_S)


def test_a_tail_begins_behind_the_newest_checkpoint(driver: Driver) -> None:
    checkpointed(driver)
    trim_to_last(driver)
    session = session_of(driver)
    tail = Tail.start(driver.log, 0)
    awaited = tail.expect((session, 2))

    event = driver.ask(OpenTxn(session, 2, NEVER, "default", 1, 0))

    assert awaited.wait(WAIT_S) == event
    tail.close()


def test_a_log_that_lost_its_end_and_grew_another_one_is_found_at_the_start(driver: Driver) -> None:
    checkpointed(driver)
    driver.log.cut(Topic.EVENTS, len(driver.records) - 1)
    driver.append(b"another end")
    tail = Tail.start(driver.log, 0)

    with pytest.raises(LogDamagedError, match="lost its end"):
        expected(tail).wait(WAIT_S)


def expected(tail: Tail) -> Awaited:
    """Return an answer that is waited for, or raise why none can come."""
    return tail.expect((4, 1))


@pytest.mark.parametrize("times", [1, 5, 20])
def test_the_newest_head_is_found_among_older_checkpoints(driver: Driver, times: int) -> None:
    checkpointed(driver, times=times)
    driver.open_session()
    offset = checkpointed(driver)

    assert read_newest_head(driver.log, 0) == (driver.head, offset)
    assert read_newest_head(driver.log, 1) is None


class CountingLog(MemoryLog):
    """A log that counts the bytes of what is read."""

    def __init__(self, of: MemoryLog) -> None:
        super().__init__()
        self.topics, self.changed = of.topics, of.changed
        self.bytes_read = 0

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        return CountingReader(self, topic, offset)


class CountingReader(MemoryLogReader):
    """Counts what it reads."""

    def __init__(self, log: CountingLog, topic: Topic, offset: int) -> None:
        super().__init__(log, log.topics[topic], offset)
        self._counting = log

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        records = super().read(limit, timeout_s)
        self._counting.bytes_read += sum(len(record.value) for record in records)
        return records


def test_head_without_the_state(driver: Driver) -> None:
    """The head is read from the end of the topic: what stands before costs nothing."""
    writer = driver.log.writer(Topic.CHECKPOINTS)
    for number in range(100):
        writer.append(b"0/1/%d" % number, bytes(10_000))
    offset = checkpointed(driver)
    counting = CountingLog(driver.log)

    assert read_newest_head(counting, 0) == (driver.head, offset)
    assert counting.bytes_read < 200_000


def test_without_a_checkpoint_there_is_no_head_to_begin_from() -> None:
    assert read_newest_head(MemoryLog(), 0) is None


def test_a_checkpoint_of_a_log_that_needs_a_later_reader_is_not_begun_from(driver: Driver) -> None:
    checkpointed(driver)
    topic = driver.log.topics[Topic.CHECKPOINTS]
    last = topic.records[-1]
    later = last.value.replace(b'"reader": %d' % READER_VERSION, b'"reader": 1000')
    topic.records[-1] = last._replace(value=later)

    with pytest.raises(IncompatibleError, match="version 1000"):
        read_newest_head(driver.log, 0)


def test_a_log_says_at_its_beginning_which_ledger_it_is(driver: Driver) -> None:
    assert read_genesis(driver.log, WAIT_S) == driver.state.genesis


def test_events_of_another_topic_are_not_taken_for_those_of_this(driver: Driver) -> None:
    renamed = Renamed(driver.log)

    with pytest.raises(LogDamagedError, match="recorded in topic events-0"):
        read_genesis(renamed, WAIT_S)


class Renamed(MemoryLog):
    """The records of another log, in topics with other ids."""

    def __init__(self, of: MemoryLog) -> None:
        super().__init__()
        self.topics, self.changed = of.topics, of.changed

    def topic_id(self, topic: Topic) -> str:
        return f"copy of {super().topic_id(topic)}"


def test_a_log_without_its_first_events_does_not_say_whose_it_is(driver: Driver) -> None:
    driver.log.remove_below(Topic.EVENTS, 2)

    with pytest.raises(LogDamagedError, match="at offset 2, history is gone"):
        read_genesis(driver.log, WAIT_S)
