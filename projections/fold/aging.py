"""Aging: replaces the state checkpoint of a store by age, besides by number of positions.

A restart reads the log again from the newest checkpoint on. A ledger with few events reaches the
next one only after days, so a checkpoint is also replaced once it is `age_s` old and an event came
since. The fold stands still while a checkpoint is written. The next one is due after 100 times as
long as that took, so that a large state slows the fold by 1 % at most.
"""

from typing import Final, Protocol

from ledger.clock import Clock, SystemClock
from ledger.log_lines import LogLines

SHARE: Final = 100

log_lines = LogLines("lakeledger.checkpoint")


class Checkpointed(Protocol):
    """A fold of the log whose state is stored now and then; `checkpointed` is its position."""

    @property
    def checkpointed(self) -> int:
        """Return the position of the newest checkpoint."""
        ...

    def store_checkpoint(self) -> int:
        """Store the state and return its size, 0 if there is nothing new."""
        ...


class AgingCheckpoint:
    """The checkpoint of one fold; the follower looks at it between two batches.

    The age counts from the start of this process: a stored checkpoint holds no time.
    """

    def __init__(self, fold: Checkpointed, age_s: float, *, clock: Clock | None = None) -> None:
        self._fold = fold
        self._clock = clock or SystemClock()
        self._age_s = age_s
        self._took_s = 0.0
        self._position = fold.checkpointed
        self._made_s = self._clock.monotonic_s()

    def replace_if_old(self) -> None:
        """Store a newer one if it is old enough and the fold has gone on since.

        Raises what writing to the store raises.
        """
        now_s = self._clock.monotonic_s()
        if self._fold.checkpointed != self._position:
            self._note(now_s)
        if now_s - self._made_s < max(self._age_s, SHARE * self._took_s):
            return
        size = self._fold.store_checkpoint()
        if not size:
            return
        self._note(self._clock.monotonic_s())
        self._took_s = self._made_s - now_s
        log_lines.info(
            "checkpoint", position=self._position, bytes=size, seconds=round(self._took_s, 3)
        )

    def _note(self, now_s: float) -> None:
        self._position, self._made_s = self._fold.checkpointed, now_s
