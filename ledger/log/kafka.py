"""The log in Kafka: the adapter that keeps real data.

Readers are assigned their partition by hand and never join a group; writers are idempotent and wait
for all replicas; neither knows transactions. A client of Kafka lives in the process that made it
and is lost in its forked children, so each checks that before it is used.

What no reader can see: a topic that was deleted and created anew while the reader was paused or cut
off, and that meanwhile holds more records than were read, goes on at the same offset. Whoever comes
back after a pause compares `topic_id`, or reads its last record again.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Final, TypeVar

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from ledger.errors import LogError, SettingsError
from ledger.log.connection import (
    NO_LEADER,
    NOT_CONNECTED,
    NOT_KNOWN,
    OFFSET_GONE,
    UNKNOWN_HERE,
    WAITED,
    Connection,
    Trouble,
    as_log_error,
)
from ledger.log.port import Record, Topic
from ledger.log.topic_settings import topic_name
from ledger.log.topics import topic_ids

Client = TypeVar("Client")

# A refusal is told beside the records and does not end a wait, so long waits are cut.
_SLICE_S: Final = 0.5
_QUEUE_FULL_S: Final = 0.05
# Delivery reports are served once for so many records; serving them costs as much as a record.
_SERVED_TOGETHER: Final = 100
_HELD_S: Final = 2.0
_SPREAD_S: Final = 2.0
_LEADER_S: Final = 0.05


class Process:
    """This process, known without asking the system: that would cost as much as a record."""

    def __init__(self) -> None:
        self.note()
        os.register_at_fork(after_in_child=self.note)

    def note(self) -> None:
        """Ask the system."""
        self.id = os.getpid()


PROCESS: Final = Process()


class KafkaLog:
    """The topics of one ledger in one cluster; `domain` is the partition. Threads may share it.

    `client` holds librdkafka settings of the deployment, such as the login. `linger_ms` above 0
    trades latency for fewer requests; a record not acknowledged within `delivery_timeout_s` counts
    as not delivered. With `gather_s` events are read that much later, many at once: that is for a
    sequencer, to which its own come back. Nothing is asked of the broker until something is used.

    Raises SettingsError for a name or a setting that cannot be used.
    """

    def __init__(
        self,
        bootstrap: str,
        ledger: str,
        *,
        client: Mapping[str, Any] = {},
        domain: int = 0,
        linger_ms: float = 0.0,
        delivery_timeout_s: float = 30.0,
        gather_s: float = 0.0,
    ) -> None:
        self.ledger = ledger
        self.domain = domain
        self._connection = Connection(bootstrap, client)
        self._linger_ms = linger_ms
        self._delivery_timeout_s = delivery_timeout_s
        self._gather_s = gather_s
        self._names = {topic: topic_name(ledger, topic) for topic in Topic}
        self._process = PROCESS.id
        self._trouble = Trouble()
        self._asking = Lock()
        self._asker = made(Consumer, self._connection.reader(self._trouble))

    def reader(self, topic: Topic, offset: int) -> "KafkaReader":
        """Return a reader that starts at `offset`, which it does not look at before it reads."""
        check_process(self._process)
        assert offset >= 0, "the client takes negative offsets for something else"
        trouble = Trouble()
        gather_s = self._gather_s if topic is Topic.EVENTS else 0.0
        settings = self._connection.reader(trouble, gather_s=gather_s)
        return KafkaReader(made(Consumer, settings), trouble, self._partition(topic, offset))

    def writer(self, topic: Topic) -> "KafkaWriter":
        """Return a writer of its own, which nobody shares."""
        check_process(self._process)
        trouble = Trouble()
        settings = self._connection.writer(
            trouble, linger_ms=self._linger_ms, delivery_timeout_s=self._delivery_timeout_s
        )
        return KafkaWriter(settings, trouble, self._partition(topic))

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the first offset and the end offset, asked of the broker now."""
        check_process(self._process)
        with self._asking:
            try:
                found = ask_ends(self._asker, self._partition(topic), timeout_s)
            except KafkaException as problem:
                raise as_log_error(
                    problem.args[0], self._names[topic], because=self._trouble.last
                ) from problem
            self._trouble.clear()
        return found

    def topic_id(self, topic: Topic) -> str:
        """Return the broker's id of the topic, another one after it was re-created.

        Raises LogUnavailableError when there is no such topic, or no answer.
        """
        check_process(self._process)
        bootstrap, client = self._connection.bootstrap, self._connection.client
        ids = topic_ids(bootstrap, self.ledger, [topic], client=client)
        if topic not in ids:
            raise as_log_error(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), self._names[topic])
        return ids[topic]

    def close(self) -> None:
        """Close what readers and writers share; closing twice is allowed."""
        if PROCESS.id == self._process:
            self._asker.close()

    def _partition(self, topic: Topic, offset: int = 0) -> TopicPartition:
        return TopicPartition(self._names[topic], self.domain, offset)


class KafkaReader:
    """Reads one partition forward; for one thread.

    A broker that does not answer looks like one that has nothing: `read` returns nothing, and
    `KafkaLog.ends` tells the two apart.
    """

    def __init__(self, consumer: Consumer, trouble: Trouble, start: TopicPartition) -> None:
        self._consumer = consumer
        self._trouble = trouble
        self._at = start
        self._process = PROCESS.id
        self._is_placed = False
        self._rewind()

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, waiting up to `timeout_s` for the first and not for more."""
        check_process(self._process)
        if not self._is_placed:
            self._rewind()
        # What the client hands out and this call does not return is read again, by the next call:
        # librdkafka 2.16 locks itself up if it is closed while it asks for an offset that is gone.
        self._is_placed = False
        records, following, self._is_placed = self._taken(self._messages(limit, timeout_s))
        self._at.offset = following
        if records:
            self._trouble.clear()
        return records

    def next_offset(self) -> int:
        """Return the offset of the first record not yet returned."""
        return self._at.offset

    def close(self) -> None:
        """Let go of the broker; closing twice is allowed."""
        if PROCESS.id == self._process:
            self._consumer.close()

    def _messages(self, limit: int, timeout_s: float) -> list[Any]:
        """Wait for one message, then take what is there: waiting for many would wait for all."""
        first = self._first(timeout_s)
        if first is None:
            return []
        return [first, *self._consumer.consume(limit - 1, 0)] if limit > 1 else [first]

    def _first(self, timeout_s: float) -> Any:
        deadline = time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            message: Any = self._consumer.poll(max(0.0, min(left_s, _SLICE_S)))
            if message is not None:
                if not is_end(message.error()):
                    return message
                self._at.offset = message.offset()
                continue
            if (refusal := self._trouble.refusal) is not None:
                self._trouble.clear()
                raise as_log_error(refusal, self._at.topic) from KafkaException(refusal)
            if left_s <= _SLICE_S:
                return None

    def _taken(self, messages: list[Any]) -> tuple[list[Record], int, bool]:
        """Return the records up to the first error, what follows them, and whether that was all.

        Raises the error if nothing stands before it.
        """
        records: list[Record] = []
        following = self._at.offset
        for message in messages:
            error = message.error()
            if error is None:
                offset, key, value = message.offset(), message.key() or b"", message.value() or b""
                records.append(Record(offset, key, value, message.timestamp()[1]))
                following = offset + 1
            elif is_end(error):
                following = message.offset()
            elif records:
                return records, following, False
            else:
                raise self._log_error(error) from KafkaException(error)
        return records, following, True

    def _log_error(self, error: KafkaError) -> LogError:
        held = self._held() if error.name() in OFFSET_GONE else NOT_KNOWN
        return as_log_error(
            error,
            self._at.topic,
            because=self._trouble.last,
            wanted=self._at.offset,
            held=held,
        )

    def _held(self) -> tuple[int, int]:
        """Return the first offset and the end offset, if the broker still tells them."""
        try:
            return ask_ends(self._consumer, self._at, _HELD_S)
        except KafkaException:
            return NOT_KNOWN

    def _rewind(self) -> None:
        """Go on at the next offset, with nothing fetched and no error met."""
        self._consumer.assign([self._at])
        self._is_placed = True


class KafkaWriter:
    """Appends to one partition in order; for one thread. An empty value is a tombstone."""

    def __init__(self, settings: dict[str, Any], trouble: Trouble, target: TopicPartition) -> None:
        self._trouble = trouble
        self._topic = target.topic
        self._partition = target.partition
        self._process = PROCESS.id
        self._is_closed = False
        self._unserved = 0
        self._producer = made(Producer, {**settings, "on_delivery": trouble.note_delivery})

    def append(self, key: bytes, value: bytes) -> None:
        """Queue a record; its delivery is not waited for. Raises as `check` does."""
        check_process(self._process)
        self._unserved += 1
        if self._unserved >= _SERVED_TOGETHER:
            self.check()
        self._raise_failure()
        while not self._is_queued(key, value):
            self._producer.poll(_QUEUE_FULL_S)
            self._raise_failure()

    def check(self) -> None:
        """Serve delivery reports; raise LogUnavailableError if any record was not delivered."""
        check_process(self._process)
        self._unserved = 0
        self._producer.poll(0)
        self._raise_failure()

    def flush(self, timeout_s: float) -> None:
        """Wait until all queued records are acknowledged; raise LogUnavailableError if not.

        After a time-out without a failed record the writer can still be used: the records are on
        their way.
        """
        check_process(self._process)
        left = self._producer.flush(timeout_s)
        self._raise_failure()
        if left:
            late = KafkaError(
                KafkaError._TIMED_OUT,  # noqa: SLF001 - a public name that begins so
                f"{left} record(s) not acknowledged within {timeout_s} s, they may come later",
            )
            raise as_log_error(late, self._topic, because=self._trouble.last)
        self._trouble.clear()

    def close(self) -> None:
        """Let go of the broker without waiting; closing twice is allowed."""
        if PROCESS.id == self._process and not self._is_closed:
            self._is_closed = True
            self._producer.purge(blocking=False)
            self._producer.close()

    def _is_queued(self, key: bytes, value: bytes) -> bool:
        """Try to queue a record; tell whether there was room."""
        try:
            self._producer.produce(self._topic, value or None, key, self._partition)
        except BufferError:
            return False
        except KafkaException as problem:
            self._trouble.note_delivery(problem.args[0])
            self._raise_failure()
        return True

    def _raise_failure(self) -> None:
        trouble = self._trouble
        if (error := trouble.undelivered) is not None:
            raise as_log_error(error, self._topic, because=trouble.because) from KafkaException(
                error
            )


def is_end(error: KafkaError | None) -> bool:
    """Tell whether the end was reached, at an offset that may lie behind markers."""
    return error is not None and error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001


def ask_ends(client: Consumer, partition: TopicPartition, timeout_s: float) -> tuple[int, int]:
    """Return the first and the end offset; raises KafkaException, after `client` told its trouble.

    A partition whose leader is changing is asked again until the time is over, and for a moment one
    that is not known: what was just created is not known everywhere at once. That moment begins
    with the first answer, which a busy machine may be slow to give. As long as no broker is
    connected nothing was asked, and the wait is cut, so that a signal is heard in between.
    """
    deadline = time.monotonic() + timeout_s
    slice_s = _SLICE_S
    answered_s: float | None = None
    while True:
        left_s = max(0.0, deadline - time.monotonic())
        try:
            return client.get_watermark_offsets(partition, min(left_s, slice_s), cached=False)
        except KafkaException as problem:
            name, now_s = problem.args[0].name(), time.monotonic()
            if is_cut := name in WAITED and slice_s < left_s:
                # Of a broker that was asked the answer may take all the time that is left.
                slice_s = slice_s if name == NOT_CONNECTED else timeout_s
            elif answered_s is None:
                answered_s = now_s
            is_new = name == UNKNOWN_HERE and now_s - (answered_s or now_s) < _SPREAD_S
            if not (is_cut or is_new or name in NO_LEADER) or left_s == 0:
                raise
        finally:
            client.poll(0)  # Only so does the client tell what it heard.
        time.sleep(min(left_s, _LEADER_S))


def made(kind: Callable[[dict[str, Any]], Client], settings: dict[str, Any]) -> Client:
    """Return a new client; raises SettingsError for a setting that it does not take."""
    try:
        return kind(settings)
    except KafkaException as problem:
        raise SettingsError(
            f"Kafka's client does not take its settings: {problem.args[0].str()}. Correct or "
            "remove the one it names"
        ) from problem


def check_process(maker: int) -> None:
    """Raise LogError in any process but `maker`: the threads of a client do not survive a fork."""
    if PROCESS.id != maker:
        raise LogError(
            f"this part of the log was made in process {maker} and is used in {PROCESS.id}, where "
            "its threads do not run. Make the log after the fork, or start processes by spawn"
        )
