"""The writer of one partition in Kafka."""

from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from ledger.log.connection import Trouble, as_log_error
from ledger.log.kafka_client import PROCESS, check_process, made

_QUEUE_FULL_S: Final = 0.05
# Delivery reports are served once for so many records; serving them costs as much as a record.
_SERVED_TOGETHER: Final = 100


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
