"""The writer of one partition in Kafka."""

import time
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from ledger.errors import LogError
from ledger.log.kafka.client import PROCESS, check_process, made
from ledger.log.kafka.connection import as_log_error
from ledger.log.kafka.rights import WRITE
from ledger.log.kafka.trouble import ClientError, Trouble

_QUEUE_FULL_S: Final = 0.05
# Delivery reports are served once for so many records; serving them costs as much as a record.
_SERVED_TOGETHER: Final = 100
# An acknowledgement is not told; it is looked for after so long, and ever later.
_FLUSH_S: Final = 0.0005
_FLUSH_MAX_S: Final = 0.02


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
        elif not len(self._producer):
            # Nothing was under way when a connection failed of which this may tell.
            self._serve(0)
            self._trouble.was_cut = False
        self._raise_failure()
        while not self._is_queued(key, value):
            self._serve(_QUEUE_FULL_S)
            self._raise_failure()

    def check(self) -> None:
        """Serve delivery reports; raise LogUnavailableError if any record was not delivered."""
        check_process(self._process)
        self._unserved = 0
        self._serve(0)
        self._raise_failure()

    def flush(self, timeout_s: float) -> None:
        """Wait until all queued records are acknowledged; raise LogUnavailableError if not.

        After a time-out without a failed record the writer can still be used: the records are on
        their way.
        """
        check_process(self._process)
        left = self._flushed(timeout_s)
        self._raise_failure()
        if left:
            late = KafkaError(
                KafkaError._TIMED_OUT,  # noqa: SLF001 - a public name that begins so
                f"{left} record(s) not acknowledged within {timeout_s} s, they may come later",
            )
            raise self._log_error(late, self._trouble.last)
        self._trouble.clear()

    def unwritten(self, value: bytes) -> int:
        """Return how many records of this value are known not to have been written."""
        if not self._is_closed:
            self._serve(0)
        return self._trouble.unwritten[value]

    def close(self) -> None:
        """Let go of the broker without waiting; closing twice is allowed."""
        if PROCESS.id == self._process and not self._is_closed:
            self._is_closed = True
            self._producer.purge(blocking=False)
            self._serve(0)
            # A client that gives up meanwhile raises that, or leaves it set for the next call of C.
            with suppress(KafkaException, SystemError):
                self._producer.close()
                time.monotonic()

    def _serve(self, wait_s: float) -> None:
        """Serve what the client has to tell; one that gave up for good raises it, once."""
        try:
            self._producer.poll(wait_s)
        except KafkaException as problem:
            self._trouble.note_delivery(problem.args[0])

    def _flushed(self, timeout_s: float) -> int:
        """Wait for acknowledgements and return how many records have none.

        The client's own way to wait loses the error with which it gives up for good.
        """
        deadline_s, pause_s = time.monotonic() + timeout_s, _FLUSH_S
        while left := len(self._producer):
            left_s = deadline_s - time.monotonic()
            if self._trouble.undelivered is not None or left_s <= 0:
                return left
            self._serve(min(pause_s, left_s))
            pause_s = min(2 * pause_s, _FLUSH_MAX_S)
        return 0

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
            raise self._log_error(error, trouble.because) from KafkaException(error)

    def _log_error(self, error: ClientError, because: ClientError | None) -> LogError:
        user = self._trouble.user
        return as_log_error(error, self._topic, because=because, right=WRITE, user=user)
