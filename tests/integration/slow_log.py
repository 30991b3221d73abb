"""A log in memory that can be slow and lossy on its way to the sequencer."""

from collections.abc import Callable, Sequence

from ledger.errors import LogUnavailableError
from ledger.log.memory import MemoryLog
from ledger.log.port import LogReader, LogWriter, Record, Topic


class PausedReader:
    """A reader that returns nothing while it is held up, though there is something."""

    def __init__(self, reader: LogReader, is_held_up: Callable[[], bool]) -> None:
        self._reader = reader
        self._is_held_up = is_held_up

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, or nothing."""
        return [] if self._is_held_up() else self._reader.read(limit, timeout_s)

    def next_offset(self) -> int:
        """Return the offset of the first record not yet returned."""
        return self._reader.next_offset()

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()


class LosingWriter:
    """A writer of which no record arrives."""

    def append(self, key: bytes, value: bytes) -> None:
        """Take a record."""

    def check(self) -> None:
        """Say that it was lost."""
        raise LogUnavailableError("no answer in time")

    def flush(self, _timeout_s: float) -> None:
        """Say that it was lost."""
        self.check()

    def close(self) -> None:
        """Do nothing."""


class SlowLog(MemoryLog):
    """A log in memory whose heartbeats can be held up on their way to the sequencer.

    Its broker can be away for those who ask it for the ends, and lose the beats of the leader.
    `waited_s` is how long each of those who asked while it was away waited for an answer.
    """

    is_held_up = False
    is_away = False
    loses_beats = False

    def __init__(self) -> None:
        super().__init__()
        self.waited_s: list[float] = []

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the first offset and the end offset."""
        if self.is_away:
            self.waited_s.append(timeout_s)
            raise LogUnavailableError("no answer in time")
        return super().ends(topic, timeout_s)

    def writer(self, topic: Topic) -> LogWriter:  # type: ignore[override]
        """Return a writer."""
        loses = self.loses_beats and topic is Topic.BEATS
        return LosingWriter() if loses else super().writer(topic)

    def reader(self, topic: Topic, offset: int) -> LogReader:  # type: ignore[override]
        """Return a reader that starts at `offset`."""
        reader = super().reader(topic, offset)
        if topic is not Topic.HEARTBEATS:
            return reader
        return PausedReader(reader, lambda: self.is_held_up)
