"""Registering: a process that follows the log says now and then how far it is."""

from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from socket import gethostname
from typing import Final

from ledger.clock import Clock
from ledger.errors import LedgerError, LogError
from ledger.log.consumers import Consumer, forget, register
from ledger.log.port import Log, Topic
from ledger.log.trimmed import start_of
from ledger.log_lines import LogLines

MOVED_S: Final = 30.0
STILL_S: Final = 10 * 60.0
"""A consumer says how far it is so often: when it has moved, and when it has not."""
AGAIN_S: Final = 5.0
"""How soon a word that was not taken is said again."""

log_lines = LogLines("lakeledger.consumers")


class Registration:
    """The entry of one process among the consumers, kept while it follows the log.

    Its first word comes before it reads, and the second one as soon as it has moved. A ledger
    without the topic has no consumers, a user may lack the right, and a broker that is away takes
    no word. Then no trim waits for the process: that is logged once, kept as `problem`, and the
    word is said again soon.
    """

    def __init__(self, log: Log, role: str, name: str, clock: Clock, domain: int = 0) -> None:
        self.problem = ""
        self._log, self._domain, self._clock = log, domain, clock
        self._role, self._name = role, name
        self._said: tuple[float, int] | None = None
        self._every_s = 0.0
        self._again_s = float("-inf")

    def hold(self) -> None:
        """Keep all events that the log has until it is known from where this process reads.

        The process itself meets what is wrong with the log.
        """
        with suppress(LogError):
            self.note(start_of(self._log, self._domain).head.position)

    def note(self, position: int) -> None:
        """Say from which position this process would read again, if that is due."""
        if not self._is_due(position):
            return
        now_s = self._clock.monotonic_s()
        said = Consumer(self._role, self._name, gethostname(), position, self._clock.now_ms())
        try:
            # Before its first event a ledger keeps nothing, and its first sequencer would take the
            # word for a trace of events that are gone.
            if position < 1 and not self._log.ends(Topic.EVENTS)[1]:
                return
            self._log.topic_id(Topic.CONSUMERS)
            register(self._log, self._domain, said)
        except LedgerError as problem:
            if not self.problem:
                log_lines.warning("not registered", role=self._role, why=str(problem))
            self.problem, self._again_s = str(problem), self._clock.monotonic_s() + AGAIN_S
            return
        if self.problem:
            log_lines.info("registered", role=self._role)
        self._every_s = 0.0 if self._said is None else MOVED_S
        self.problem, self._said = "", (now_s, position)

    def ask(self, position: Callable[[], int]) -> None:
        """Say the position that a call returns, which is asked for only if a word may be due."""
        if self._said is None or self._clock.monotonic_s() - self._said[0] >= MOVED_S:
            with suppress(LedgerError):
                self.note(position())

    def leave(self) -> None:
        """Let no trim wait for this process any more, as it ends and will begin anew elsewhere."""
        if self._said is not None:
            with suppress(LedgerError):
                forget(self._log, self._domain, self._role, self._name)
            self._said = None

    def _is_due(self, position: int) -> bool:
        now_s = self._clock.monotonic_s()
        if now_s < self._again_s:
            return False
        if self._said is None:
            return True
        silent_s, before = now_s - self._said[0], self._said[1]
        return silent_s >= (self._every_s if position != before else STILL_S)


def name_of(place: Path) -> str:
    """Return the name of the consumer that keeps what it made in a folder: the same for ever."""
    text = f"{gethostname()}:{place.absolute()}"
    return f"{place.name}-{blake2b(text.encode(), digest_size=4).hexdigest()}"
