"""Registering: a process that follows the log says now and then how far it is."""

from hashlib import blake2b
from pathlib import Path
from socket import gethostname
from typing import Final

from ledger.clock import Clock
from ledger.errors import LedgerError
from ledger.log.consumers import Consumer, register
from ledger.log.port import Log, Topic
from ledger.log_lines import LogLines

MOVED_S: Final = 30.0
STILL_S: Final = 10 * 60.0
"""A consumer says how far it is so often: when it has moved, and when it has not."""

log_lines = LogLines("lakeledger.consumers")


class Registration:
    """The entry of one process among the consumers, kept while it follows the log.

    A ledger without the topic has no consumers, and a broker that is away takes no word of them:
    both are logged once and stop no process.
    """

    def __init__(self, log: Log, role: str, name: str, clock: Clock, domain: int = 0) -> None:
        self._log, self._domain, self._clock = log, domain, clock
        self._role, self._name = role, name
        self._said: tuple[float, int] | None = None
        self._is_told = False

    def note(self, position: int) -> None:
        """Say from which position this process would read again, if that is due."""
        if position < 1 or not self._is_due(position):
            return
        self._said = self._clock.monotonic_s(), position
        said = Consumer(self._role, self._name, gethostname(), position, self._clock.now_ms())
        try:
            self._log.topic_id(Topic.CONSUMERS)
            register(self._log, self._domain, said)
        except LedgerError as problem:
            if not self._is_told:
                log_lines.warning("not registered", role=self._role, why=str(problem))
            self._is_told = True

    def _is_due(self, position: int) -> bool:
        if self._said is None:
            return True
        silent_s, before = self._clock.monotonic_s() - self._said[0], self._said[1]
        return silent_s >= (MOVED_S if position != before else STILL_S)


def name_of(place: Path) -> str:
    """Return the name of the consumer that keeps what it made in a folder: the same for ever."""
    text = f"{gethostname()}:{place.absolute()}"
    return f"{place.name}-{blake2b(text.encode(), digest_size=4).hexdigest()}"
