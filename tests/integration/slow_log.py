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

    def unwritten(self, _value: bytes) -> int:
        """Say that this is not known."""
        return 0

    def close(self) -> None:
        """Nothing is held here."""


class HoldingWriter:
    """A writer whose records stay with it while the broker takes none."""

    def __init__(self, writer: LogWriter, is_refused: Callable[[], bool]) -> None:
        self._writer = writer
        self._is_refused = is_refused
        self._held: list[tuple[bytes, bytes]] = []

    def append(self, key: bytes, value: bytes) -> None:
        """Queue a record."""
        self._held.append((key, value))
        self.check()

    def check(self) -> None:
        """Send what is held, if the broker takes it."""
        while self._held and not self._is_refused():
            self._writer.append(*self._held.pop(0))

    def flush(self, timeout_s: float) -> None:
        """Wait for what was sent."""
        self._writer.flush(timeout_s)

    def unwritten(self, value: bytes) -> int:
        """Return what the writer beneath knows."""
        return self._writer.unwritten(value)

    def close(self) -> None:
        self._writer.close()


class SlowLog(MemoryLog):
    """A log in memory whose heartbeats can be held up on their way to the sequencer.

    Its broker can be away for those who ask it for the ends, take no heartbeats though it answers,
    and lose the beats of the leader.
    `waited_s` is how long each of those who asked while it was away waited for an answer.
    """

    is_held_up = False
    is_away = False
    takes_no_beats = False
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
        if self.loses_beats and topic is Topic.BEATS:
            return LosingWriter()
        writer = super().writer(topic)
        if topic is not Topic.HEARTBEATS:
            return writer
        return HoldingWriter(writer, lambda: self.takes_no_beats)

    def reader(self, topic: Topic, offset: int) -> LogReader:  # type: ignore[override]
        reader = super().reader(topic, offset)
        if topic is not Topic.HEARTBEATS:
            return reader
        return PausedReader(reader, lambda: self.is_held_up)
