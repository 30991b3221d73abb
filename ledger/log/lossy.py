"""A log in memory that loses, doubles or refuses records when a test tells it to."""

from collections import Counter
from collections.abc import Sequence

from ledger.errors import AccessDeniedError, LogUnavailableError
from ledger.log.memory import MemoryLog, MemoryReader, MemoryTopic, MemoryWriter
from ledger.log.port import Record, Topic

Fault = Counter[Topic]
"""How many of the next records of each topic it strikes."""


class LossyLog(MemoryLog):
    """A log with faults to come; made of another one it has the same records and its own faults.

    Attributes:
        lost: records that are never there, though nobody is told.
        unacknowledged: records that are there, though their writer fails.
        refused: records that are not there, and their writer fails.
        denied: records that the broker denies, and says so.
        doubled: records that are there twice.
        interrupted: records that are there, though Ctrl-C interrupts their writer.
        away: reads that find the broker away.
        writers: how many writers were made, by topic.

    A fault strikes as often as it is told to: `log.unacknowledged[Topic.COMMANDS] = 1`.
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
        """Return a reader that finds the broker away when it is."""
        return LossyReader(self, self.topics[topic], offset)

    def writer(self, topic: Topic) -> "LossyWriter":
        """Return a writer that fails when a fault is due."""
        self.writers[topic] += 1
        return LossyWriter(self, self.topics[topic])

    def strikes(self, fault: Fault, topic: Topic) -> bool:
        """Tell whether a fault is due, and use it up."""
        with self.changed:
            is_due = fault[topic] > 0
            fault[topic] -= is_due
            return is_due

    def heal(self) -> None:
        """Let no further fault strike."""
        with self.changed:
            for fault in self._faults():
                fault.clear()

    def wait_for(self, topic: Topic, end: int, timeout_s: float = 10.0) -> None:
        """Wait until a topic has grown to an end offset; raises TimeoutError if it does not."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.topics[topic].end() >= end, timeout_s):
                raise TimeoutError(f"{topic} ends at {self.topics[topic].end()}, not at {end}")

    def _faults(self) -> Sequence[Fault]:
        failing = self.unacknowledged, self.refused, self.denied, self.interrupted
        return self.lost, self.doubled, *failing, self.away


class LossyReader(MemoryReader):
    """Reads a topic of a lossy log."""

    def __init__(self, log: LossyLog, topic: MemoryTopic, offset: int) -> None:
        super().__init__(log, topic, offset)
        self._lossy = log
        self._name = topic.name

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, or raise LogUnavailableError while the broker is away."""
        before = self._next
        records = super().read(limit, timeout_s)
        if self._lossy.strikes(self._lossy.away, self._name):
            self._next = before
            raise LogUnavailableError("the broker is away")
        return records


class LossyWriter(MemoryWriter):
    """Appends to a topic of a lossy log; of no more use once a record failed."""

    def __init__(self, log: LossyLog, topic: MemoryTopic) -> None:
        super().__init__(log, topic)
        self._lossy = log
        self._name = topic.name
        self._is_broken = False
        self._denied: Counter[bytes] = Counter()

    def append(self, key: bytes, value: bytes) -> None:
        """Append, as far as no fault is due; a failure is told at the next call."""
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
        """Raise LogUnavailableError if a record failed."""
        if self._denied:
            raise AccessDeniedError(
                f"{self._name}: this user lacks WRITE", topic=self._name, right="WRITE"
            )
        if self._is_broken:
            raise LogUnavailableError("a record was not acknowledged")

    def flush(self, timeout_s: float) -> None:  # noqa: ARG002
        """Raise as `check`: what did not fail was delivered at once."""
        self.check()

    def unwritten(self, value: bytes) -> int:
        """Return how many records of this value were denied."""
        return self._denied[value]
