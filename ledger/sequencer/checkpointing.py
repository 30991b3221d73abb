"""Checkpointing: when a sequencer writes a state checkpoint, as a standby and as a leader.

A standby writes one whenever it is due: nothing waits for it meanwhile. Whoever asks a leader does,
so a leader leaves checkpoints to its standbys. Only where nothing was written for a while after one
was due is it alone, and writes itself: at a moment at which it has nothing to do or, where there is
none for long, at one that it makes.
"""

from collections.abc import Mapping
from typing import Final

import structlog

from ledger.clock import Clock
from ledger.config.settings import SequencerSettings
from ledger.core.invariants import assert_invariants
from ledger.core.limits import CHECKPOINT_CHUNK_BYTES
from ledger.errors import LogUnavailableError
from ledger.log.checkpoints import Checkpoint, CheckpointWriter, Written, positions_after, written
from ledger.log.port import Log, LogWriter, Topic

# A standby reads and writes a checkpoint of a usual size in less. One of a larger state takes it as
# many times as long as it is written more rarely.
ALONE_S: Final = 5.0
# So many times overdue a leader stops to decide until it has written one.
OVERDUE: Final = 10
# What a leader waits for the broker to take one: standbys, should there be any, take it for dead.
LEADER_WAIT_S: Final = 5.0
STANDBY_WAIT_S: Final = 30.0
# As a rule a checkpoint is packed to less than this part of its size.
PACKED: Final = 6

log_lines = structlog.get_logger("lakeledger.sequencer")


class Checkpointing:
    """The checkpoints of one sequencer; `values` is what the topic held up to `end` at its start.

    With `checks_state` no state is written that breaks an invariant.

    Attributes:
        position: that of the newest checkpoint that is known of.
    """

    def __init__(
        self,
        log: Log,
        domain: int,
        *,
        settings: SequencerSettings,
        clock: Clock,
        position: int,
        values: Mapping[bytes, bytes],
        end: int,
        checks_state: bool = False,
    ) -> None:
        self.position = position
        self._log = log
        self._domain = domain
        self._checks_state = checks_state
        self._clock = clock
        self._probe_s = settings.probe_s
        self._least = settings.checkpoint_positions
        self._before = written(dict(values), domain)
        self._after = positions_after(size_of(self._before), self._least)
        self._end = end
        # Since when, and since which position, a leader waits for another one to write.
        self._due: tuple[float, int] | None = None
        self._log_writer: LogWriter | None = None
        self._writer: CheckpointWriter | None = None

    def is_due(self, position: int) -> bool:
        """Tell whether events up to a position are so many that a standby writes one."""
        return position - self.position >= self._after

    def is_overdue(self, position: int) -> bool:
        """Tell whether a leader without a free moment has to make one."""
        return position - self.position >= OVERDUE * self._after

    def is_missing(self, position: int) -> bool:
        """Tell whether one has been due for so long that a standby would have written it."""
        now_s = self._clock.monotonic_s()
        if self._due is None:
            self._due = now_s, position
        return now_s - self._due[0] >= ALONE_S * self._after / self._least

    def is_alone(self) -> bool:
        """Tell whether a leader has to write the one that is missing: nobody else does."""
        now_s = self._clock.monotonic_s()
        assert self._due is not None, "one is missing"
        then = self._due[1]
        grown = self._has_grown()
        if grown is None:
            self._due = now_s, then
        elif grown:
            # A standby wrote one, of an event behind the one at which it was due.
            self.position, self._due = then, None
        return grown is False

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint; raises LogUnavailableError if it does not arrive."""
        self._write(checkpoint, STANDBY_WAIT_S)

    def write_alone(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint of a leader, which does not end if that fails."""
        try:
            self._write(checkpoint, LEADER_WAIT_S)
        except LogUnavailableError as error:
            log_lines.warning("no checkpoint", why=str(error))
            self.close()
            # What arrived of it is no checkpoint of another process either.
            self._has_grown()
            # The next one is due after as many positions as if this one were there.
            self.position = checkpoint.head.position
        self._due = None

    def close(self) -> None:
        """Let go of the log."""
        if self._log_writer is not None:
            self._log_writer.close()
        self._log_writer = self._writer = None

    def _write(self, checkpoint: Checkpoint, wait_s: float) -> None:
        if self._checks_state:
            assert_invariants(checkpoint.state)
        if self._log_writer is None or self._writer is None:
            self._log_writer = self._log.writer(Topic.CHECKPOINTS)
            self._writer = CheckpointWriter(self._log_writer, self._domain, self._before)
        size = self._writer.write(checkpoint, wait_s)
        # What removes older ones is no checkpoint of another process.
        self._log_writer.flush(wait_s)
        self._has_grown()
        self.position = checkpoint.head.position
        self._after = positions_after(size, self._least)
        log_lines.info("checkpoint written", position=self.position, bytes=size)

    def _has_grown(self) -> bool | None:
        """Tell whether the topic has grown since this was asked last, None if nobody knows."""
        try:
            end = self._log.ends(Topic.CHECKPOINTS, self._probe_s)[1]
        except LogUnavailableError:
            return None
        grown, self._end = end != self._end, end
        return grown


def size_of(before: list[Written]) -> int:
    """Return about how many bytes the newest checkpoint has, by its chunks; 0 without one."""
    return max(0, before[-1].chunks - 1) * CHECKPOINT_CHUNK_BYTES * PACKED if before else 0
