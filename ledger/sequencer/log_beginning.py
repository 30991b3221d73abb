"""Where the log begins: a leader looks now and then, and says it once a trim removed records.

Any client may have a trim decided, but only one with the rights of a trim writes marks and removes
records. A trim may also end between its event and its removal. So the event of a trim proves
nothing, and what only the removed events needed stays until a leader has seen the log itself.
"""

from typing import Final

from ledger.core.events.events import RecordsTrimmed
from ledger.core.state.domain import DomainState
from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.log.port import Log, Topic
from ledger.log.trimmed import start_of
from ledger.log_lines import LogLines

LOOK_S: Final = 5.0
AGAIN_S: Final = 60.0
"""A leader decides nothing while it waits for a broker, so one that is away is asked seldom."""

log_lines = LogLines("lakeledger.sequencer")


class LogBeginning:
    """The first offset of the events topic, as one leader last saw it.

    A broker that does not answer within `patience_s` is asked again later.
    """

    def __init__(self, log: Log, patience_s: float) -> None:
        self._log, self._patience_s = log, patience_s
        self._first = 0
        self._look_s: float | None = None

    def seen(self, state: DomainState, now_s: float) -> RecordsTrimmed | None:
        """Return the event for records that left the log since the state noted its beginning."""
        if self._look_s is not None and now_s < self._look_s:
            return None
        self._look_s = now_s + LOOK_S
        try:
            first = self._log.ends(Topic.EVENTS, self._patience_s)[0]
            if first == self._first:
                return None
            mark = start_of(self._log, state.genesis.domain if state.genesis else 0).mark
        except LogUnavailableError as error:
            log_lines.debug("where the log begins is not known now", why=str(error))
            self._look_s = now_s + AGAIN_S
            return None
        except LogDamagedError as error:
            log_lines.warning("the beginning of the log is gone without a trim", why=str(error))
            mark = None
        self._first = first
        if mark is None or mark.below <= state.begins:
            return None
        return RecordsTrimmed(mark.below)
