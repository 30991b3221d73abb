"""The writer of one partition in Kafka."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from ledger.errors import LogError
from ledger.log.kafka.client import PROCESS, check_process, made
from ledger.log.kafka.connection import as_log_error
from ledger.log.kafka.rights import WRITE
from ledger.log.kafka.trouble import ClientError, Trouble

_QUEUE_FULL_S: Final = 0.05
# Delivery reports are served once per this many records; serving them costs as much as a record.
_SERVED_TOGETHER: Final = 100
# Acknowledgements are polled, first after this time, then at growing intervals.
_FLUSH_S: Final = 0.0005
_FLUSH_MAX_S: Final = 0.02
# A client that gave up for good reports each of its records from a thread of its own.
_REPORTS_S: Final = 1.0


class KafkaWriter:
    """Appends to one partition in order; for one thread. An empty value is a tombstone.

    Each record has the `headers`.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        trouble: Trouble,
        target: TopicPartition,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._headers: dict[str, str | bytes | None] | None = dict(headers) if headers else None
        self._trouble = trouble
        self._topic = target.topic
        self._partition = target.partition
        self._process = PROCESS.id
        self._is_closed = False
        self._unserved = 0
        self._producer = made(Producer, {**settings, "on_delivery": trouble.note_delivery})

    def append(self, key: bytes, value: bytes) -> None:
        """Queue a record without waiting for its delivery; raises as `check` does."""
        check_process(self._process)
        self._unserved += 1
        if self._unserved >= _SERVED_TOGETHER:
            self.check()
        elif not len(self._producer):
            # No record was in flight, so a failed connection reported by this call lost none.
            self._serve(0)
            self._trouble.was_cut = False
        self._raise_failure()
        while not self._is_queued(key, value):
            self._serve(_QUEUE_FULL_S)
            self._raise_failure()

    def check(self) -> None:
        """Serve delivery reports; raises LogUnavailableError if a record was not delivered."""
        check_process(self._process)
        self._unserved = 0
        self._serve(0)
        self._raise_failure()

    def flush(self, timeout_s: float) -> None:
        """Wait until all queued records are acknowledged; raises LogUnavailableError otherwise.

        After a time-out without a failed record the writer can still be used: the records are in
        flight.
        """
        check_process(self._process)
        left = self._flushed(timeout_s)
        self._raise_failure()
        if left:
            late = KafkaError(
                KafkaError._TIMED_OUT,  # noqa: SLF001 - a public name that begins so
                f"{left} record(s) not acknowledged within {timeout_s} s; they may arrive later",
            )
            raise self._log_error(late, self._trouble.last)
        self._trouble.clear()

    def unwritten(self, value: bytes) -> int:
        """Return how many records of this value were certainly not written."""
        if not self._is_closed:
            self._serve(0)
            self._await_reports()
        return self._trouble.unwritten[value]

    def close(self) -> None:
        """Close the client without waiting; closing twice is allowed."""
        if PROCESS.id == self._process and not self._is_closed:
            self._is_closed = True
            self._producer.purge(blocking=False)
            self._serve(0)
            # A client that fails meanwhile raises, or leaves the error set for the next C call.
            with suppress(KafkaException, SystemError):
                self._producer.close()
                time.monotonic()

    def _serve(self, wait_s: float) -> None:
        """Serve the client's callbacks; a client that gave up for good raises once."""
        try:
            self._producer.poll(wait_s)
        except KafkaException as problem:
            self._trouble.note_delivery(problem.args[0])

    def _flushed(self, timeout_s: float) -> int:
        """Wait for acknowledgements and return the number of records without one.

        The client's own flush loses the error with which it gives up for good.
        """
        deadline_s, pause_s = time.monotonic() + timeout_s, _FLUSH_S
        while left := len(self._producer):
            left_s = deadline_s - time.monotonic()
            if self._trouble.undelivered is not None or left_s <= 0:
                return left
            self._serve(min(pause_s, left_s))
            pause_s = min(2 * pause_s, _FLUSH_MAX_S)
        return 0

    def _await_reports(self) -> None:
        """Wait for the reports of all records, if the client gave up for good."""
        error, deadline_s = self._trouble.undelivered, time.monotonic() + _REPORTS_S
        if error is None or not error.fatal():
            return
        while len(self._producer) and (left_s := deadline_s - time.monotonic()) > 0:
            self._serve(min(_FLUSH_MAX_S, left_s))

    def _is_queued(self, key: bytes, value: bytes) -> bool:
        """Try to queue a record; return whether there was room."""
        try:
            self._producer.produce(
                self._topic, value or None, key, self._partition, headers=self._headers
            )
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
