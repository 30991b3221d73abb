"""The reader of one partition in Kafka."""

import time
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ledger.errors import LogError
from ledger.log.kafka.client import PROCESS, SLICE_S, ask_ends, check_process, check_right
from ledger.log.kafka.connection import NOT_KNOWN, OFFSET_GONE, as_log_error
from ledger.log.kafka.rights import READ
from ledger.log.kafka.trouble import NO_GROUP, NO_RIGHT, ClientError, Trouble
from ledger.log.port import Record

_HELD_S: Final = 2.0
# The time without records before the right to read is checked, and the timeout of that check.
_LOOK_S: Final = 1.0
_LOOK_WAIT_S: Final = 0.2


class KafkaReader:
    """Reads one partition forward; for one thread.

    `read` returns nothing if the broker does not answer, as it does at the end of the topic.
    `KafkaLog.ends` raises in the first case.
    """

    def __init__(self, consumer: Consumer, trouble: Trouble, start: TopicPartition) -> None:
        self._consumer = consumer
        self._trouble = trouble
        self._at = start
        self._process = PROCESS.id
        self._is_placed = False
        self._has_come = False
        self._look_s = time.monotonic() + _LOOK_S
        self._rewind()

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, waiting up to `timeout_s` for the first and not for more."""
        check_process(self._process)
        if not self._is_placed:
            self._rewind()
        # If this call returns fewer records than the client delivered, the next call reads them
        # again: librdkafka 2.16 hangs if it is closed while it requests an offset that is gone.
        self._is_placed = False
        records, following, self._is_placed = self._taken(self._messages(limit, timeout_s))
        self._at.offset = following
        if records:
            self._trouble.clear()
        return records

    def next_offset(self) -> int:
        """Return the offset of the next record to be returned."""
        return self._at.offset

    def close(self) -> None:
        """Close the client; closing twice is allowed."""
        if PROCESS.id == self._process:
            self._consumer.close()

    def _messages(self, limit: int, timeout_s: float) -> list[Any]:
        """Wait for one message, then take what is there; `consume` would wait for all of them."""
        first = self._first(timeout_s)
        if first is None:
            return []
        return [first, *self._consumer.consume(limit - 1, 0)] if limit > 1 else [first]

    def _first(self, timeout_s: float) -> Any:
        deadline = time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            message: Any = self._consumer.poll(max(0.0, min(left_s, SLICE_S)))
            if message is not None:
                if is_of_group(message.error()):
                    continue
                self._has_come = True
                if not is_end(message.error()):
                    return message
                self._at.offset = message.offset()
                continue
            if (refusal := self._trouble.refusal) is not None:
                self._trouble.clear()
                raise self._log_error(refusal) from KafkaException(refusal)
            self._check_right()
            if left_s <= SLICE_S:
                return None

    def _check_right(self) -> None:
        """Raise AccessDeniedError if nothing arrives because reading is denied.

        A client that lacks the right from the start reports no error, and retries for ever.
        """
        now_s = time.monotonic()
        if self._has_come or now_s < self._look_s:
            return
        self._look_s = now_s + _LOOK_S
        try:
            check_right(self._consumer, self._at.topic, _LOOK_WAIT_S)
        except KafkaException as problem:
            if problem.args[0].name() in NO_RIGHT:
                raise self._log_error(problem.args[0]) from problem

    def _taken(self, messages: list[Any]) -> tuple[list[Record], int, bool]:
        """Return the records up to the first error, the next offset, and whether that was all.

        Raises the error if no record comes before it.
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
            elif is_of_group(error):
                continue
            elif records:
                return records, following, False
            else:
                raise self._log_error(error) from KafkaException(error)
        return records, following, True

    def _log_error(self, error: ClientError) -> LogError:
        held = self._held() if error.name() in OFFSET_GONE else NOT_KNOWN
        return as_log_error(
            error,
            self._at.topic,
            because=self._trouble.last,
            right=READ,
            user=self._trouble.user,
            wanted=self._at.offset,
            held=held,
        )

    def _held(self) -> tuple[int, int]:
        """Return the first and the end offset, or NOT_KNOWN if the broker does not answer."""
        try:
            return ask_ends(self._consumer, self._at, _HELD_S, self._trouble)
        except KafkaException:
            return NOT_KNOWN

    def _rewind(self) -> None:
        """Restart the client at the next offset, without fetched records and errors."""
        self._consumer.assign([self._at])
        self._is_placed = True


def is_end(error: KafkaError | None) -> bool:
    """Tell whether an error means the end of the partition, which may lie behind markers."""
    return error is not None and error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001


def is_of_group(error: KafkaError | None) -> bool:
    """Tell whether an error is the refusal to name the coordinator of the unused group."""
    return error is not None and error.name() == NO_GROUP
