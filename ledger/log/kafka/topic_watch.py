"""The watch on the settings of topics while a ledger runs.

A broker deletes records by the settings of today, some minutes after they changed. The look at the
start of a role comes too early for a change that follows it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Signal
from threading import Thread
from typing import Final

from ledger.errors import LedgerError
from ledger.log.kafka.topics import LookedTopics
from ledger.log_lines import LogLines

EVERY_S: Final = 60.0
# A look at a broker that is away ends by itself; the end of a role does not wait for it.
ENDS_S: Final = 2.0
MENDED_BY_UP: Final = "lakeledger up mends the topics of its own broker within a minute"

log_lines = LogLines("lakeledger.topics")


class TopicWatch:
    """Looks at the topics again and again, and logs what has changed since the last look.

    `faults` are the reasons why the ledger cannot run on its topics, as of the last look.
    """

    def __init__(self, look: Callable[[], LookedTopics]) -> None:
        self.faults: Sequence[str] = ()
        self._look = look
        self._doubts: frozenset[str] | None = None
        self._refusal = ""

    def look(self) -> None:
        """Look once; a broker that does not answer changes nothing."""
        try:
            found = self._look()
        except LedgerError as problem:
            self._tell_refusal(str(problem))
            return
        self._refusal = ""
        before, doubts = self.faults, frozenset(found.doubts)
        for line in found.faults:
            if line not in before:
                log_lines.error("a topic may lose records", what=line, embedded=MENDED_BY_UP)
        # Doubts at the start are known: commands that create and verify topics print them.
        for line in sorted(doubts - (doubts if self._doubts is None else self._doubts)):
            log_lines.warning("a topic is less safe than it was", what=line)
        if before and not found.faults:
            log_lines.info("all topics are as they must be")
        self.faults, self._doubts = tuple(found.faults), doubts

    def _tell_refusal(self, why: str) -> None:
        if not self._refusal:
            log_lines.warning("the settings of topics cannot be read", why=why)
        self._refusal = why


@contextmanager
def repeating(
    call: Callable[[], object], every_s: float = EVERY_S, name: str = "lakeledger-topics"
) -> Iterator[None]:
    """Call something at once and then every `every_s`, in a thread, while the block runs."""
    stop = Signal()

    def run() -> None:
        call()
        while not stop.wait(every_s):
            call()

    thread = Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(ENDS_S)
