"""A log in memory that loses, doubles or refuses records at the request of a test."""

from collections import Counter
from collections.abc import Sequence

from ledger.errors import AccessDeniedError, LogUnavailableError
from ledger.log.memory import MemoryLog, MemoryLogReader, MemoryTopic, MemoryWriter
from ledger.log.port import Record, Topic

Fault = Counter[Topic]
"""The number of next records that a fault strikes, by topic."""


class LossyLog(MemoryLog):
    """A log with faults; one made from another log shares its records and has its own faults.

    Attributes:
        lost: records that are never written, without an error.
        unacknowledged: records that are written, though their writer fails.
        refused: records that are not written, and their writer fails.
        denied: records that the broker denies with an error.
        doubled: records that are written twice.
        interrupted: records that are written, though Ctrl-C interrupts their writer.
        away: reads that fail because the broker is away.
        writers: the number of writers made, by topic.

    A fault strikes as often as it is set to: `log.unacknowledged[Topic.COMMANDS] = 1`.
    """

    def __init__(self, of: MemoryLog | None = None) -> None:
        super().__init__()
        if of is not None:
            self.topics, self.changed = of.topics, of.changed
        self.lost: Fault = Counter()
        self.unacknowledged: Fault = Counter()
        self.refused: Fault = Counter()
        self.denied: Fault = Counter()
        self.doubled: Fault = Counter()
        self.interrupted: Fault = Counter()
        self.away: Fault = Counter()
        self.writers: Fault = Counter()

    def reader(self, topic: Topic, offset: int) -> "LossyReader":
        return LossyReader(self, self.topics[topic], offset)

    def writer(self, topic: Topic) -> "LossyWriter":
        self.writers[topic] += 1
        return LossyWriter(self, self.topics[topic])

    def strikes(self, fault: Fault, topic: Topic) -> bool:
        """Return whether a fault is due, and use it up."""
        with self.changed:
            is_due = fault[topic] > 0
            fault[topic] -= is_due
            return is_due

    def heal(self) -> None:
        """Clear all faults."""
        with self.changed:
            for fault in self._faults():
                fault.clear()

    def wait_for(self, topic: Topic, end: int, timeout_s: float = 10.0) -> None:
        """Wait until a topic has grown to an end offset; raises TimeoutError otherwise."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.topics[topic].end() >= end, timeout_s):
                raise TimeoutError(f"{topic} must end at {end}, got {self.topics[topic].end()}")

    def _faults(self) -> Sequence[Fault]:
        failing = self.unacknowledged, self.refused, self.denied, self.interrupted
        return self.lost, self.doubled, *failing, self.away


class LossyReader(MemoryLogReader):
    """Reads a topic of a lossy log."""

    def __init__(self, log: LossyLog, topic: MemoryTopic, offset: int) -> None:
        super().__init__(log, topic, offset)
        self._lossy = log
        self._name = topic.name

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        before = self._next
        records = super().read(limit, timeout_s)
        if self._lossy.strikes(self._lossy.away, self._name):
            self._next = before
            raise LogUnavailableError("the broker is away")
        return records


class LossyWriter(MemoryWriter):
    """Appends to a topic of a lossy log; cannot be used after a failed record."""

    def __init__(self, log: LossyLog, topic: MemoryTopic) -> None:
        super().__init__(log, topic)
        self._lossy = log
        self._name = topic.name
        self._is_broken = False
        self._denied: Counter[bytes] = Counter()

    def append(self, key: bytes, value: bytes) -> None:
        """Append, unless a fault is due; the next call raises for a failed record."""
        self.check()
        log, topic = self._lossy, self._name
        self._is_broken = log.strikes(log.refused, topic)
        if self._is_broken or log.strikes(log.lost, topic):
            return
        if log.strikes(log.denied, topic):
            self._denied[value] += 1
            return
        super().append(key, value)
        if log.strikes(log.doubled, topic):
            super().append(key, value)
        self._is_broken = log.strikes(log.unacknowledged, topic)
        if log.strikes(log.interrupted, topic):
            raise KeyboardInterrupt

    def check(self) -> None:
        if self._denied:
            raise AccessDeniedError(
                f"{self._name}: this user lacks WRITE", topic=self._name, right="WRITE"
            )
        if self._is_broken:
            raise LogUnavailableError("a record was not acknowledged")

    def flush(self, timeout_s: float) -> None:  # noqa: ARG002
        """Raise as `check`; all other records were delivered at once."""
        self.check()

    def unwritten(self, value: bytes) -> int:
        return self._denied[value]
