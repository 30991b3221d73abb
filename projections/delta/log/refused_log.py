"""The versions of a log that its storage refused, in order, until it takes them.

They are tried again after pauses that grow up to a bound. Only so many bytes of them wait in
memory. Beyond that the first one alone is kept, and the others are made again from the events.
"""

from collections import deque
from typing import Final

from projections.delta.published_log import DeltaVersion, StoppedTable

PAUSE_S: Final = 1.0
PAUSE_MAX_S: Final = 60.0
WAITING_BYTES_MAX: Final = 16 << 20
# A checkpoint refers to the live files of its table.
BYTES_PER_FILE: Final = 100


Waiting = DeltaVersion | StoppedTable


class RefusedLog:
    """A log that goes no further: `first` is the version that was refused, `stopped` says why.

    Attributes:
        is_refused: whether the storage refused it, so that it is tried again. A foreign file is
            looked for again each minute.
        is_whole: whether all later versions wait here; else they must be made again.
        is_open: whether the first version could be written meanwhile, and later ones are lacking.
        waiting: what is to be written, in order.
    """

    def __init__(
        self,
        first: DeltaVersion,
        stopped: StoppedTable,
        *,
        is_refused: bool,
        is_whole: bool,
        now_s: float,
        bytes_max: int = WAITING_BYTES_MAX,
    ) -> None:
        self.first, self.stopped = first, stopped
        self.is_refused, self.is_whole, self.is_open = is_refused, is_whole, False
        self.waiting: deque[Waiting] = deque([first])
        self._bytes, self._bytes_max = size_of(first), bytes_max
        self.pause_s = PAUSE_S
        self._due_s = now_s + PAUSE_S

    def add(self, outcome: Waiting) -> None:
        """Let one more version wait, or none but the first if they become too many."""
        if not self.is_whole:
            return
        self._bytes += size_of(outcome)
        self.waiting.append(outcome)
        if self._bytes > self._bytes_max:
            self.is_whole = False
            self.waiting = deque([self.waiting[0]])

    def is_due(self, now_s: float) -> bool:
        """Return whether it is time to try again."""
        return self.is_refused and not self.is_open and now_s >= self._due_s

    def wait(self, first: DeltaVersion, stopped: StoppedTable, now_s: float) -> None:
        """Pause for longer than the last time, since the storage refused again."""
        self.first, self.stopped = first, stopped
        self.pause_s = min(2 * self.pause_s, PAUSE_MAX_S)
        self._due_s = now_s + self.pause_s


def size_of(outcome: Waiting) -> int:
    """Return about how many bytes a version takes in memory."""
    if isinstance(outcome, StoppedTable):
        return 0
    files = 0 if outcome.state is None else len(outcome.state.files)
    return len(outcome.data) + files * BYTES_PER_FILE
