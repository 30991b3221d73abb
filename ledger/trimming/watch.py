"""The watch of a log: a process looks at the log now and then, beside its work.

So an answer about the log costs nothing and waits for no broker. A look that fails leaves the last
one in place, which says how old it is.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final, NamedTuple

from ledger.clock import Clock
from ledger.errors import LedgerError
from ledger.log.kafka.topic_watch import repeating
from ledger.log.port import Log, Topic
from ledger.log_lines import LogLines
from ledger.trimming.look import LogLook, Whereabouts, look_at

EVERY_S: Final = 60.0
TICK_S: Final = 2.0
"""How often the watch sees whether a look is due: the first one is, once the rows are loaded."""
MS: Final = 1000
NOT_YET: Final = "the log was not looked at yet"

log_lines = LogLines("lakeledger.watch")


class LogSeen(NamedTuple):
    """The last look at the log that did not fail, None before the first one, and its age.

    `problem` is why there is none, or why a later one failed, and "" otherwise.
    """

    look: LogLook | None = None
    age_s: int = 0
    problem: str = ""


class RowsReached(NamedTuple):
    """How far the rows of this process are: the last position in them, and the next offset."""

    position: int
    offset: int


class LogWatch:
    """Looks at a log over a connection of its own; any thread may ask what it saw.

    `reached` says how far the rows of this process are, None while they are loaded. The end of the
    log is counted from there, so no event is read.
    """

    def __init__(
        self,
        open_log: Callable[[], Log],
        where: Whereabouts,
        reached: Callable[[], RowsReached | None],
        clock: Clock,
    ) -> None:
        self._open_log, self._where = open_log, where
        self._reached, self._clock = reached, clock
        self._due_s = float("-inf")
        self._kept: tuple[LogLook | None, str] = (None, NOT_YET)

    def seen(self) -> LogSeen:
        """Return what the watch saw, without a look."""
        look, problem = self._kept
        age_ms = 0 if look is None else max(0, self._clock.now_ms() - look.at)
        return LogSeen(look, age_ms // MS, problem)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Look again and again in a thread while the block runs."""
        with repeating(self.look_if_due, TICK_S, name="lakeledger-log"):
            yield

    def look_if_due(self) -> None:
        """Look at the log if the last try is old; no failure goes further than `seen`."""
        reached, now_s = self._reached(), self._clock.monotonic_s()
        if reached is None or now_s < self._due_s:
            return
        self._due_s = now_s + EVERY_S
        before, former = self._kept
        try:
            with closing(self._open_log()) as log:
                unread = max(0, log.ends(Topic.EVENTS)[1] - reached.offset)
                now_ms, last = self._clock.now_ms(), reached.position + unread
                look = look_at(log, self._where, now_ms, before, last=last)
        except (LedgerError, OSError) as problem:
            if former in {"", NOT_YET}:
                log_lines.warning("the log cannot be looked at", why=str(problem))
            self._kept = before, str(problem)
        else:
            self._kept = look, ""
