"""The clock of a sequencer: its own, but never far ahead of the broker's.

Times of events never fall, so one commit with a time years ahead would give that time to all later
ones. The broker stamps each record with its own clock. That is the second opinion.
"""

from collections.abc import Sequence
from typing import Final

from ledger.clock import Clock
from ledger.log.port import Record
from ledger.log_lines import LogLines

log_lines = LogLines("lakeledger.sequencer")

AHEAD_MAX_MS: Final = 60_000
"""How far the time of an event may be ahead of the broker's clock."""


class BoundedClock:
    """A clock whose wall time is at most `AHEAD_MAX_MS` ahead of the broker's.

    Before a record was heard it is the own clock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._broker_ms: float | None = None
        self._is_off = False

    def hear(self, stamped_ms: int) -> None:
        """Take the time that the broker gave a record; one that was read late says less."""
        offset = stamped_ms - 1000 * self._clock.monotonic_s()
        if stamped_ms > 0 and (self._broker_ms is None or offset > self._broker_ms):
            self._broker_ms = offset

    def now_at(self, records: Sequence[Record]) -> int:
        """Return the time once records were read, and log when the own clock begins to be off."""
        for record in records:
            self.hear(record.timestamp)
        if self.is_right() is self._is_off:
            self._is_off = not self._is_off
            log_lines.warning(
                "the clock is ahead of the broker's, whose time counts"
                if self._is_off
                else "the clock is right again",
                ahead_s=round(self.ahead_ms() / 1000),
            )
        return self.now_ms()

    def now_ms(self) -> int:
        """Return milliseconds since 1970 UTC; may jump."""
        own = self._clock.now_ms()
        return own if self.is_right() else round(own - self.ahead_ms() + AHEAD_MAX_MS)

    def monotonic_s(self) -> float:
        """Return seconds since some fixed instant; never goes back."""
        return self._clock.monotonic_s()

    def claim_ms(self, log_ms: int) -> int:
        """Return the time of a claim, after the newest time of a log.

        Before the broker's clock was heard, a wrong time would stay for all later events. A new
        ledger has no other time.
        """
        is_known = self._broker_ms is not None or not log_ms
        return max(log_ms, self.now_ms()) if is_known else log_ms

    def is_right(self) -> bool:
        """Return whether the own clock is not too far ahead of the broker's."""
        return self.ahead_ms() <= AHEAD_MAX_MS

    def ahead_ms(self) -> float:
        """Return how far the own clock is ahead of the broker's, at most; 0 if it is not."""
        if self._broker_ms is None:
            return 0.0
        broker = self._broker_ms + 1000 * self._clock.monotonic_s()
        return max(0.0, self._clock.now_ms() - broker)

    def behind_ms(self, log_ms: int) -> int:
        """Return how far the newest time of a log is ahead of the own clock; 0 if it is not."""
        return max(0, log_ms - self._clock.now_ms())
