"""Checkpointing: when a sequencer writes a state checkpoint, as a standby and as a leader.

A standby writes a checkpoint whenever one is due, since no client waits for a standby. Clients wait
for a leader, so it leaves checkpoints to its standbys. If a due checkpoint is not written for a
while, the leader has no standby and writes it in an idle moment. If there is no idle moment for
long, the leader pauses for it. One is due by positions, and by age: a trim takes no event behind
the newest checkpoint, however few events a ledger has.
"""

from collections.abc import Mapping
from typing import Final

from ledger.clock import Clock
from ledger.config.settings import SequencerSettings
from ledger.core.invariants import assert_invariants
from ledger.core.limits import CHECKPOINT_CHUNK_BYTES
from ledger.errors import LogUnavailableError
from ledger.log.checkpoints import Checkpoint, CheckpointWriter, Written, positions_after, written
from ledger.log.port import Log, LogWriter, Topic
from ledger.log_lines import LogLines

# A standby reads and writes a checkpoint of usual size in less time. A larger state takes longer,
# and its checkpoints are due more rarely by the same factor.
ALONE_S: Final = 5.0
# If a checkpoint is overdue by this factor, the leader pauses decisions until it has written one.
OVERDUE: Final = 10
# A leader waits so much longer for one that is due by age. The age counts from the start of each
# process, so a standby writes it in that time.
AGED: Final = 2
# The leader's timeout for a checkpoint, short because a standby would treat it as dead meanwhile.
LEADER_WAIT_S: Final = 5.0
STANDBY_WAIT_S: Final = 30.0
# The usual ratio between the size of a checkpoint and its compressed size, at least.
PACKED: Final = 6

log_lines = LogLines("lakeledger.sequencer")


class Checkpointing:
    """The checkpoints of one sequencer; `values` is the topic's content up to `end` at its start.

    With `checks_state`, the invariants of a state are asserted before it is written.

    Attributes:
        position: the position of the newest known checkpoint.
        written: how many this sequencer wrote.
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
        self.written = 0
        self._log = log
        self._domain = domain
        self._checks_state = checks_state
        self._clock = clock
        self._probe_s = settings.probe_s
        self._least, self._least_s = settings.checkpoint_positions, settings.checkpoint_s
        self._since_s = clock.monotonic_s()
        self._before = written(dict(values), domain)
        self._after = positions_after(size_of(self._before), self._least)
        self._end = end
        # The time and position since which a leader waits for a standby to write.
        self._due: tuple[float, int] | None = None
        self._log_writer: LogWriter | None = None
        self._writer: CheckpointWriter | None = None

    def is_due(self, position: int) -> bool:
        """Tell whether a standby at this position writes a checkpoint."""
        return position - self.position >= self._after or self._is_aged(position, 1)

    def is_due_of_leader(self, position: int) -> bool:
        """Tell whether a leader at this position waits for one, and writes it if none comes."""
        return position - self.position >= self._after or self._is_aged(position, AGED)

    def is_overdue(self, position: int) -> bool:
        """Tell whether a leader must pause to write a checkpoint."""
        return position - self.position >= OVERDUE * self._after

    def is_missing(self, position: int) -> bool:
        """Tell whether a checkpoint is due for so long that a standby would have written it."""
        now_s = self._clock.monotonic_s()
        if self._due is None:
            self._due = now_s, position
        return now_s - self._due[0] >= ALONE_S * self._after / self._least

    def is_alone(self) -> bool:
        """Tell whether a leader must write the missing checkpoint, because no standby does."""
        now_s = self._clock.monotonic_s()
        assert self._due is not None, "a checkpoint is missing"
        then = self._due[1]
        grown = self._has_grown()
        if grown is None:
            self._due = now_s, then
        elif grown:
            # A standby wrote one, at the position where it was due or later.
            self.position, self._due = then, None
            self._since_s = now_s
        return grown is False

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint; raises LogUnavailableError if it is not delivered."""
        self._write(checkpoint, STANDBY_WAIT_S)

    def write_alone(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint of a leader; a failure is logged and does not end the leader."""
        try:
            self._write(checkpoint, LEADER_WAIT_S)
        except LogUnavailableError as error:
            log_lines.warning("checkpoint not written", why=str(error))
            self.close()
            # Delivered parts of it must not count as the checkpoint of a standby.
            self._has_grown()
            # The next one is due as if this one had been written.
            self.position = checkpoint.head.position
            self._since_s = self._clock.monotonic_s()
        self._due = None

    def close(self) -> None:
        """Close the writer."""
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
        # The tombstones of older checkpoints must not count as the checkpoint of a standby.
        self._log_writer.flush(wait_s)
        self._has_grown()
        self.position, self._since_s = checkpoint.head.position, self._clock.monotonic_s()
        self._after = positions_after(size, self._least)
        self.written += 1
        log_lines.info("checkpoint written", position=self.position, bytes=size)

    def _is_aged(self, position: int, patience: int) -> bool:
        """Tell whether an event came since the newest checkpoint, and that is old."""
        age_s = self._clock.monotonic_s() - self._since_s
        wanted_s = patience * self._least_s * self._after / self._least
        return position > self.position and age_s >= wanted_s

    def _has_grown(self) -> bool | None:
        """Return whether the topic has grown since the last call, None if it cannot be read."""
        try:
            end = self._log.ends(Topic.CHECKPOINTS, self._probe_s)[1]
        except LogUnavailableError:
            return None
        grown, self._end = end != self._end, end
        return grown


def size_of(before: list[Written]) -> int:
    """Return the approximate size of the newest checkpoint, by its chunks; 0 without one."""
    return max(0, before[-1].chunks - 1) * CHECKPOINT_CHUNK_BYTES * PACKED if before else 0
