"""A log whose events can be held back, so that the demo decides how much a process knows.

A reader sees the real topic, up to a position that is set from outside. Later events come as soon
as the position moves on, as after a pause of the network.
"""

from collections import deque
from collections.abc import Sequence
from itertools import islice, takewhile
from threading import Condition

from ledger.core.limits import NUMBER_MAX
from ledger.log.port import Log, LogReader, LogWriter, Record, Topic
from ledger.log.wire.codec import read_control


class HeldLog(Log):
    """Another log, whose events are read up to a position only; at first all are read."""

    def __init__(self, log: Log) -> None:
        self.moved = Condition()
        self._log = log
        self._last = NUMBER_MAX

    def hold(self, position: int) -> None:
        """Allow reads of events up to a position, and of none behind it."""
        with self.moved:
            self._last = position
            self.moved.notify_all()

    def passes(self, record: Record) -> bool:
        """Return whether an event may be read; a `Fenced` has no position in its record."""
        return read_control(record.value)[0].position <= self._last

    def reader(self, topic: Topic, offset: int) -> LogReader:
        reader = self._log.reader(topic, offset)
        return HeldLogReader(self, reader) if topic is Topic.EVENTS else reader

    def writer(self, topic: Topic) -> LogWriter:
        return self._log.writer(topic)

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        return self._log.ends(topic, timeout_s)

    def topic_id(self, topic: Topic) -> str:
        return self._log.topic_id(topic)

    def close(self) -> None:
        self._log.close()


class HeldLogReader(LogReader):
    """Reads the events of a held log."""

    def __init__(self, log: HeldLog, reader: LogReader) -> None:
        self._log = log
        self._reader = reader
        self._held: deque[Record] = deque()

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records that may be read, waiting up to `timeout_s` for the first."""
        if not self._held:
            self._held.extend(self._reader.read(limit, timeout_s))
        if not self._held:
            return []
        with self._log.moved:
            self._log.moved.wait_for(lambda: self._log.passes(self._held[0]), timeout_s)
            found = list(takewhile(self._log.passes, islice(self._held, limit)))
        for _ in found:
            self._held.popleft()
        return found

    def next_offset(self) -> int:
        """Return the offset of the first record not yet returned."""
        return self._held[0].offset if self._held else self._reader.next_offset()

    def close(self) -> None:
        self._reader.close()
